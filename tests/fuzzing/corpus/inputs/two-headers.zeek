#separator \x09
#fields	a	b
#types	string	count
qz7canary	1
#close	x
#separator \x09
#fields	a	b
#types	string	count
qz7canary	1
#close	x
#fields	c
#types	string
qz7canary
