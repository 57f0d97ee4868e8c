"""Samples of logs, written after the documentation of those who define them.

Each has a row or two as documented, with addresses of RFC 5737 and RFC 3849 where the
documentation has others, and what is read of it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["SAMPLES", "Sample"]


class Sample(NamedTuple):
    """Rows of a format.

    Args:
        format: The format by which they are read and detected.
        source: Where the format is documented.
        rows: Each ended by a line feed.
        fields: What is read of the first row, by field.
        times: The time of each row, as NumPy writes it; "NaT" if it has none.
    """

    format: str
    source: str
    rows: str
    fields: dict[str, str]
    times: list[str]


SAMPLES: Final = (
    Sample(
        "vhost_combined",
        "https://httpd.apache.org/docs/2.4/logs.html#virtualhost",
        'www.example.org:443 203.0.113.9 - ann [17/May/2015:10:05:03 +0000] "GET /a?b=1 HTTP/1.1" '
        '200 512 "https://example.org/" "Mozilla/5.0 (X11)"\n'
        '[2001:db8::5]:80 2001:db8::1 - - [17/May/2015:12:05:04 +0200] "GET / HTTP/1.1" '
        '304 - "-" "curl/8.0"\n',
        {
            "host": "203.0.113.9",
            "vhost": "www.example.org",
            "path": "/a?b=1",
            "status": "200",
            "method": "GET",
            "user": "ann",
            "agent": "Mozilla/5.0 (X11)",
            "referrer": "https://example.org/",
            "size": "512",
        },
        ["2015-05-17T10:05:03", "2015-05-17T10:05:04"],
    ),
    Sample(
        "nginx",
        "https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format",
        '10.0.0.7 - ann [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 512 "-" "Mozilla/5.0" '
        '"203.0.113.9, 198.51.100.4"\n'
        '10.0.0.7 - - [17/May/2015:10:05:04 +0000] "GET / HTTP/1.1" 200 5 "-" "curl/8.0" "-"\n',
        {
            "client": "203.0.113.9",
            "host": "10.0.0.7",
            "path": "/a",
            "status": "200",
            "method": "GET",
            "user": "ann",
            "agent": "Mozilla/5.0",
            "referrer": "-",
            "size": "512",
        },
        ["2015-05-17T10:05:03", "2015-05-17T10:05:04"],
    ),
    Sample(
        "traefik",
        "https://doc.traefik.io/traefik/observability/access-logs/",
        '203.0.113.9 - ann [05/Jan/2021:15:03:48 +0000] "GET /whoami HTTP/1.1" 200 512 "-" '
        '"curl/7.64.1" 1 "whoami@docker" "http://172.19.0.3:80" 2ms\n'
        '203.0.113.9 - - [05/Jan/2021:15:03:49 +0000] "GET /x HTTP/1.1" 404 19 "-" '
        '"curl/7.64.1" 2 "-" "-" 0ms\n',
        {
            "host": "203.0.113.9",
            "path": "/whoami",
            "status": "200",
            "method": "GET",
            "user": "ann",
            "agent": "curl/7.64.1",
            "referrer": "-",
            "router": "whoami@docker",
            "server": "http://172.19.0.3:80",
            "size": "512",
        },
        ["2021-01-05T15:03:48", "2021-01-05T15:03:49"],
    ),
    Sample(
        "traefik-json",
        "https://doc.traefik.io/traefik/observability/access-logs/",
        '{"ClientAddr":"203.0.113.9:40000","ClientHost":"203.0.113.9","ClientUsername":"ann",'
        '"DownstreamContentSize":512,"DownstreamStatus":200,"Duration":2004500,'
        '"RequestHost":"www.example.org","RequestMethod":"GET","RequestPath":"/whoami",'
        '"RequestProtocol":"HTTP/1.1","RouterName":"whoami@docker","ServiceName":"whoami@docker",'
        '"StartLocal":"2021-01-05T16:03:48.5+01:00","StartUTC":"2021-01-05T15:03:48.5Z",'
        '"request_User-Agent":"curl/7.64.1","level":"info","msg":"",'
        '"time":"2021-01-05T16:03:48+01:00"}\n',
        {
            "host": "203.0.113.9",
            "path": "/whoami",
            "status": "200",
            "method": "GET",
            "vhost": "www.example.org",
            "user": "ann",
            "agent": "curl/7.64.1",
            "router": "whoami@docker",
            "server": "whoami@docker",
            "size": "512",
        },
        ["2021-01-05T15:03:48.5"],
    ),
    Sample(
        "caddy",
        "https://caddyserver.com/docs/logging",
        '{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request",'
        '"request":{"remote_ip":"10.0.0.7","remote_port":"41342","client_ip":"203.0.113.9",'
        '"proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b=1",'
        '"headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"],"Referer":["https://example.org/"]}'
        '},"bytes_read":0,"user_id":"ann","duration":0.000929675,"size":10900,"status":200,'
        '"resp_headers":{"Server":["Caddy"],"Content-Type":["text/html"]}}\n',
        {
            "host": "203.0.113.9",
            "path": "/a?b=1",
            "status": "200",
            "method": "GET",
            "vhost": "localhost",
            "user": "ann",
            "agent": "curl/7.82.0",
            "referrer": "https://example.org/",
            "size": "10900",
        },
        ["2022-03-09T21:30:01.524102400"],
    ),
    Sample(
        "haproxy",
        "https://docs.haproxy.org/2.8/configuration.html#8.2.3",
        "<134>Feb  6 12:14:14 localhost haproxy[14389]: 203.0.113.9:33317 "
        "[06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 "
        '0/0 {www.example.org} {} "GET /index.html HTTP/1.1"\n'
        "Feb  6 12:14:15 localhost haproxy[14389]: 2001:db8::1:443 "
        "[06/Feb/2009:12:14:15.1] http-in~ "
        'http-in/<NOSRV> -1/-1/-1/-1/0 400 187 - - PR-- 0/0/0/0/0 0/0 "<BADREQ>"\n',
        {
            "host": "203.0.113.9",
            "path": "/index.html",
            "status": "200",
            "method": "GET",
            "frontend": "http-in",
            "backend": "static",
            "server": "srv1",
            "size": "2750",
        },
        ["2009-02-06T12:14:14.655", "2009-02-06T12:14:15.1"],
    ),
    Sample(
        "alb",
        "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/"
        "load-balancer-access-logs.html",
        "https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 203.0.113.9:2817 "
        '10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/a?b HTTP/1.1" '
        '"curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 '
        "arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "
        '"Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" '
        '"arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" 1 '
        '2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-" '
        "TID_1234abcd5678ef90\n"
        "h2 2018-07-02T22:23:01Z app/my-loadbalancer/50dc6c495c0c9188 [2001:db8::1]:2817 "
        "- -1 -1 -1 "
        '502 - 34 366 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - '
        'arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/a/73 "Root=1-58" "-" "-" '
        '0 2018-07-02T22:22:48.364000Z "forward" "-" "LambdaInvalidResponse" "-" "-" "-" "-"\n',
        {
            "host": "203.0.113.9",
            "path": "/a?b",
            "status": "200",
            "method": "GET",
            "agent": "curl/7.46.0",
            "vhost": "www.example.com",
            "target": "10.0.0.1:80",
            "size": "57",
        },
        ["2018-07-02T22:23:00.186641", "2018-07-02T22:23:01"],
    ),
    Sample(
        "elb",
        "https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/access-log-collection.html",
        "2015-05-13T23:39:43.945958Z my-loadbalancer 203.0.113.9:2817 10.0.0.1:80 "
        "0.000073 0.001048 "
        '0.000057 200 200 0 29 "GET http://www.example.com:80/a HTTP/1.1" "curl/7.38.0" - -\n'
        "2015-05-13T23:39:44.945958Z my-loadbalancer 203.0.113.9:2817 10.0.0.1:80 "
        "0.001069 0.000028 "
        '0.000041 - - 82 305 "- - - " "-" - -\n',
        {
            "host": "203.0.113.9",
            "path": "/a",
            "status": "200",
            "method": "GET",
            "agent": "curl/7.38.0",
            "target": "10.0.0.1:80",
            "size": "29",
        },
        ["2015-05-13T23:39:43.945958", "2015-05-13T23:39:44.945958"],
    ),
    Sample(
        "w3c",
        "https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/"
        "standard-logs-reference.html",
        "#Version: 1.0\n"
        "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status "
        "cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type\n"
        "2019-12-04\t21:02:31\tLAX1\t392\t203.0.113.9\tGET\td111111abcdef8.cloudfront.net\t"
        "/index.html\t200\t-\tMozilla/5.0%20(Windows%20NT%2010.0)\t-\t-\tHit\n",
        {
            "c-ip": "203.0.113.9",
            "cs-uri-stem": "/index.html",
            "sc-status": "200",
            "cs(User-Agent)": "Mozilla/5.0%20(Windows%20NT%2010.0)",
            "sc-bytes": "392",
            "time": "21:02:31",
        },
        ["2019-12-04T21:02:31"],
    ),
    Sample(
        "w3c",
        "https://learn.microsoft.com/en-us/windows/win32/http/w3c-logging",
        "#Software: Microsoft Internet Information Services 10.0\n"
        "#Version: 1.0\n"
        "#Date: 2002-05-02 17:42:15\n"
        "#Fields: date time c-ip cs-username s-ip s-port cs-method cs-uri-stem "
        "cs-uri-query sc-status "
        "cs(User-Agent)\n"
        "2002-05-02 17:42:15 203.0.113.9 - 10.0.0.1 80 GET /images/picture.jpg - 200 "
        "Mozilla/4.0+(compatible;MSIE+5.5;+Windows+2000+Server)\n"
        "#Fields: time date c-ip cs-uri-stem sc-status cs-method s-port cs(User-Agent)\n"
        '17:43:15 2002-05-03 203.0.113.10 /a 200 GET 80 "curl ""8"""\n',
        {
            "c-ip": "203.0.113.9",
            "cs-uri-stem": "/images/picture.jpg",
            "sc-status": "200",
            "cs(User-Agent)": "Mozilla/4.0+(compatible;MSIE+5.5;+Windows+2000+Server)",
            "s-port": "80",
        },
        ["2002-05-02T17:42:15", "2002-05-03T17:43:15"],
    ),
    Sample(
        "syslog",
        "RFC 5424, section 6.5",
        "<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - "
        "\ufeff'su root' failed for lonvick on /dev/pts/8\n"
        "<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - %% It's time.\n"
        "<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 "
        '[exampleSDID@32473 iut="3" eventSource="Applic]ation\\"" eventID="1011"]'
        '[examplePriority@32473 class="high"] \ufeffAn application event\n',
        {
            "program": "su",
            "host": "mymachine.example.com",
            "severity": "crit",
            "facility": "auth",
            "msgid": "ID47",
            "message": "'su root' failed for lonvick on /dev/pts/8",
        },
        ["2003-10-11T22:14:15.003", "2003-08-24T12:14:15.000003", "2003-10-11T22:14:15.003"],
    ),
    Sample(
        "syslog",
        "RFC 3164, section 5.4, and the files of rsyslog",
        "<34>Oct 11 22:14:15 mymachine su[231]: 'su root' failed for lonvick on /dev/pts/8\n"
        "Jun 14 15:16:01 combo sshd(pam_unix)[19939]: authentication failure\n"
        "2024-01-01T00:00:00.1+00:00 host systemd[1]: Started x.service.\n",
        {
            "program": "su",
            "host": "mymachine",
            "severity": "crit",
            "facility": "auth",
            "pid": "231",
            "message": "'su root' failed for lonvick on /dev/pts/8",
        },
        ["NaT", "NaT", "2024-01-01T00:00:00.1"],
    ),
    Sample(
        "journald",
        "https://systemd.io/JOURNAL_EXPORT_FORMATS/#journal-json-format",
        '{"__CURSOR":"s=739ad463348b4ceca5a9e69c95a3c93f;i=4ece7",'
        '"__REALTIME_TIMESTAMP":"1342540861416409","__MONOTONIC_TIMESTAMP":"21415215982",'
        '"_BOOT_ID":"6c7c6013a26343b29e964691ff25d04c","_TRANSPORT":"syslog","PRIORITY":"4",'
        '"SYSLOG_FACILITY":"3","SYSLOG_IDENTIFIER":"gdm-password]","SYSLOG_PID":"587",'
        '"MESSAGE":"AccountsService-DEBUG(+): ActUserManager: ignoring session","_PID":"587",'
        '"_UID":"0","_COMM":"gdm-session-wor","_SYSTEMD_UNIT":"display-manager.service",'
        '"_HOSTNAME":"epsilon"}\n',
        {
            "program": "gdm-password]",
            "unit": "display-manager.service",
            "host": "epsilon",
            "severity": "warning",
            "pid": "587",
            "message": "AccountsService-DEBUG(+): ActUserManager: ignoring session",
        },
        ["2012-07-17T16:01:01.416409"],
    ),
    Sample(
        "logfmt",
        "https://devcenter.heroku.com/articles/http-routing#heroku-router-log-format",
        'at=info method=GET path="/a \\"b\\"" host=example.org request_id=1a2b fwd="203.0.113.9" '
        "dyno=web.1 connect=1ms service=18ms status=200 bytes=1344 "
        "time=2024-01-01T00:00:00Z idle\n",
        {
            "path": '/a "b"',
            "fwd": "203.0.113.9",
            "status": "200",
            "bytes": "1344",
            "time": "2024-01-01T00:00:00Z",
        },
        ["2024-01-01T00:00:00"],
    ),
    Sample(
        "cloudflare",
        "https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/",
        '{"ClientIP":"203.0.113.9","ClientCountry":"de","ClientRequestHost":"www.example.com",'
        '"ClientRequestMethod":"GET","ClientRequestURI":"/a?b","ClientRequestUserAgent":"curl/8",'
        '"ClientRequestReferer":"https://example.org/","EdgeEndTimestamp":1545155129703000000,'
        '"EdgeResponseBytes":1935,"EdgeResponseStatus":403,"EdgeStartTimestamp":1545155129696000000,'
        '"RayID":"48b371889c489b2c"}\n',
        {
            "host": "203.0.113.9",
            "path": "/a?b",
            "status": "403",
            "method": "GET",
            "vhost": "www.example.com",
            "agent": "curl/8",
            "referrer": "https://example.org/",
            "country": "de",
            "size": "1935",
        },
        ["2018-12-18T17:45:29.696"],
    ),
    Sample(
        "docker",
        "https://docs.docker.com/engine/logging/drivers/json-file/",
        '{"log":"Log line is here\\n","stream":"stdout","time":"2019-01-01T11:11:11.111111111Z"}\n'
        '{"log":"without an end","stream":"stderr","time":"2019-01-01T11:11:12Z"}\n',
        {"message": "Log line is here", "stream": "stdout"},
        ["2019-01-01T11:11:11.111111111", "2019-01-01T11:11:12"],
    ),
    Sample(
        "cri",
        "https://github.com/kubernetes/design-proposals-archive/blob/main/node/"
        "kubelet-cri-logging.md",
        "2016-10-06T00:17:09.669794202Z stdout F The content of the log entry 1\n"
        "2016-10-06T00:17:10.113242941Z stderr P First line of log entry 2\n",
        {"message": "The content of the log entry 1", "stream": "stdout"},
        ["2016-10-06T00:17:09.669794202", "2016-10-06T00:17:10.113242941"],
    ),
    Sample(
        "gelf",
        "https://go2docs.graylog.org/current/getting_in_log_data/gelf.html",
        '{"version":"1.1","host":"example.org","short_message":"A short message",'
        '"full_message":"Backtrace here","timestamp":1385053862.3072,"level":1,"_user_id":9001,'
        '"facility":"web"}\n',
        {
            "host": "example.org",
            "severity": "alert",
            "facility": "web",
            "message": "A short message",
        },
        ["2013-11-21T17:11:02.307200"],
    ),
)
