#separator 
#fields	a	b
qz7canary	1
