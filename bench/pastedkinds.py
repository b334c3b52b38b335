"""The kinds of secrets of `bench.pasted`: templates, and the names people give them."""

# name: (template, identifier, English label, Chinese label, recognised without a name beside it)
KINDS: dict[str, tuple[str, str, str, str, bool]] = {
    # source code hosts
    "github-classic": ("ghp_{an36}", "github_token", "GitHub token", "GitHub 令牌", True),
    "github-fine": ("github_pat_{an22}_{an59}", "gh_token", "fine-grained token", "GitHub 细粒度令牌", True),
    "github-server": ("ghs_{an36}", "github_app_token", "installation token", "安装令牌", True),
    "github-oauth": ("gho_{an36}", "github_oauth_token", "OAuth token", "OAuth 令牌", True),
    "gitlab-pat": ("glpat-{url20}", "gitlab_token", "GitLab token", "GitLab 令牌", True),
    "gitlab-runner": ("glrt-{url20}", "runner_token", "runner token", "Runner 注册令牌", True),
    "gitlab-deploy": ("gldt-{url20}", "deploy_token", "deploy token", "部署令牌", True),
    "bitbucket-app": ("ATBB{an32}", "bitbucket_app_password", "Bitbucket app password", "Bitbucket 应用密码", True),
    "gitee": ("{hex32}", "gitee_access_token", "Gitee access token", "Gitee 访问令牌", False),
    # chat
    "slack-bot": ("xoxb-{d12}-{d13}-{an24}", "slack_bot_token", "Slack bot token", "Slack 机器人令牌", True),
    "slack-user": ("xoxp-{d12}-{d12}-{d13}-{hex32}", "slack_token", "Slack token", "Slack 令牌", True),
    "slack-app": ("xapp-1-A{up10}-{d13}-{hex64}", "slack_app_token", "Slack app token", "Slack 应用令牌", True),
    "slack-webhook": (
        "https://hooks.slack.com/services/«T{up10}/B{up10}/{an24}»",
        "slack_url", "Slack webhook", "Slack 回调地址", True,
    ),
    "discord-bot": ("M{an25}.{an6}.{url38}", "discord_token", "Discord bot token", "Discord 机器人令牌", True),
    "discord-webhook": (
        "https://discord.com/api/webhooks/{d18}/«{url68}»", "discord_url", "Discord webhook", "Discord 回调地址", True,
    ),
    "telegram-bot": ("{d10}:AA{url33}", "telegram_bot_token", "Telegram bot token", "Telegram 机器人令牌", True),
    "teams-webhook": (
        "https://acme.webhook.office.com/webhookb2/«{uuid}»@{uuid}/IncomingWebhook/«{hex32}»/{uuid}",
        "teams_url", "Teams webhook", "Teams 回调地址", True,
    ),
    "wecom-webhook": (
        "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=«{uuid}»",
        "wecom_url", "WeCom bot", "企业微信机器人", True,
    ),
    "dingtalk-webhook": (
        "https://oapi.dingtalk.com/robot/send?access_token=«{hex64}»",
        "dingtalk_url", "DingTalk bot", "钉钉机器人", True,
    ),
    "dingtalk-sign": ("SEC{hex64}", "dingtalk_secret", "DingTalk signing secret", "钉钉加签密钥", True),
    "feishu-webhook": (
        "https://open.feishu.cn/open-apis/bot/v2/hook/«{uuid}»", "feishu_url", "Feishu bot", "飞书机器人", True,
    ),
    "feishu-secret": ("{an32}", "feishu_app_secret", "Feishu app secret", "飞书应用密钥", False),
    "wechat-secret": ("{hex32}", "wechat_app_secret", "WeChat AppSecret", "微信 AppSecret", False),
    "wechat-pay": ("{an32}", "wechat_pay_api_v3_key", "WeChat Pay APIv3 key", "微信支付 APIv3 密钥", False),
    # mail and telephony
    "twilio-key": ("SK{hex32}", "twilio_api_key", "Twilio API key", "Twilio 接口密钥", True),
    "twilio-auth": ("{hex32}", "twilio_auth_token", "Twilio auth token", "Twilio 认证令牌", False),
    "sendgrid": ("SG.{url22}.{url43}", "sendgrid_api_key", "SendGrid API key", "SendGrid 密钥", True),
    "mailgun": ("key-{hex32}", "mailgun_api_key", "Mailgun API key", "Mailgun 密钥", True),
    "mailchimp": ("{hex32}-us{d2}", "mailchimp_api_key", "Mailchimp API key", "Mailchimp 密钥", True),
    # money
    "stripe": ("sk_live_{an24}", "stripe_secret_key", "Stripe secret key", "Stripe 密钥", True),
    "stripe-long": ("rk_live_51{an97}", "stripe_api_key", "Stripe restricted key", "Stripe 受限密钥", True),
    "stripe-hook": ("whsec_{an32}", "stripe_webhook_secret", "Stripe webhook secret", "Stripe 回调密钥", True),
    "square": ("sq0csp-{url43}", "square_secret", "Square secret", "Square 密钥", True),
    "shopify": ("shpat_{hex32}", "shopify_token", "Shopify token", "Shopify 令牌", True),
    # models
    "openai": ("sk-{an20}T3BlbkFJ{an20}", "openai_api_key", "OpenAI key", "OpenAI 密钥", True),
    "openai-project": (
        "sk-proj-{url74}T3BlbkFJ{url74}", "openai_api_key", "OpenAI project key", "OpenAI 项目密钥", True,
    ),
    "anthropic": ("sk-ant-api03-{url93}AA", "anthropic_api_key", "Anthropic key", "Anthropic 密钥", True),
    "hugging-face": ("hf_{an34}", "hf_token", "Hugging Face token", "HF 令牌", True),
    "deepseek": ("sk-{hex32}", "deepseek_api_key", "DeepSeek key", "DeepSeek 密钥", True),
    "zhipu": ("{hex32}.{an16}", "zhipu_api_key", "Zhipu API key", "智谱密钥", True),
    "groq": ("gsk_{an52}", "groq_api_key", "Groq key", "Groq 密钥", True),
    "replicate": ("r8_{an37}", "replicate_api_token", "Replicate token", "Replicate 令牌", True),
    "xai": ("xai-{an80}", "xai_api_key", "xAI key", "xAI 密钥", True),
    "perplexity": ("pplx-{an48}", "perplexity_api_key", "Perplexity key", "Perplexity 密钥", True),
    "volcengine": ("{uuid}", "ark_api_key", "Ark API key", "火山方舟 API Key", False),
    # registries
    "pypi": ("pypi-AgEIcHlwaS5vcmc{url150}", "pypi_token", "PyPI token", "PyPI 令牌", True),
    "npm": ("npm_{an36}", "npm_token", "npm token", "npm 令牌", True),
    "docker-hub": ("dckr_pat_{url27}", "dockerhub_token", "Docker Hub token", "Docker Hub 令牌", True),
    "rubygems": ("rubygems_{hex48}", "gem_host_api_key", "RubyGems key", "RubyGems 密钥", True),
    "crates": ("cio{an32}", "cargo_registry_token", "crates.io token", "crates.io 令牌", False),
    # clouds
    "aws-id": ("AKIA{b3216}", "aws_access_key_id", "AWS access key", "AWS 访问密钥", True),
    "aws-temporary-id": ("ASIA{b3216}", "aws_access_key_id", "AWS access key", "AWS 临时密钥", True),
    "aws-secret": ("{b6440}", "aws_secret_access_key", "AWS secret access key", "AWS 私有访问密钥", False),
    "aws-session": ("IQoJb3JpZ2luX2Vj{b64300}==", "aws_session_token", "AWS session token", "AWS 会话令牌", True),
    "gcp-key": ("AIza{url35}", "google_api_key", "Google API key", "谷歌 API 密钥", True),
    "gcp-client": ("GOCSPX-{url28}", "google_client_secret", "Google client secret", "谷歌客户端密钥", True),
    "gcp-access": ("ya29.{url120}", "google_access_token", "Google access token", "谷歌访问令牌", True),
    "gcp-refresh": ("1//0{url60}", "google_refresh_token", "refresh token", "刷新令牌", True),
    "azure-client": ("{an3}8Q~{url34}", "azure_client_secret", "Azure client secret", "Azure 客户端密码", True),
    "azure-storage": ("{b6486}==", "azure_storage_key", "storage account key", "存储账户密钥", True),
    "azure-devops": ("{low52}", "azure_devops_pat", "Azure DevOps PAT", "Azure DevOps 令牌", False),
    "alibaba-id": ("LTAI5t{an18}", "alibaba_access_key_id", "AccessKey ID", "阿里云 AccessKey", True),
    "alibaba-secret": ("{an30}", "access_key_secret", "AccessKey secret", "阿里云 AccessKeySecret", False),
    "tencent-id": ("AKID{an32}", "tencent_secret_id", "SecretId", "腾讯云 SecretId", True),
    "tencent-secret": ("{an32}", "tencentcloud_secret_key", "SecretKey", "腾讯云 SecretKey", False),
    "huawei-secret": ("{an40}", "huaweicloud_secret_key", "SK", "华为云 SK 密钥", False),
    "digitalocean": ("dop_v1_{hex64}", "digitalocean_token", "DigitalOcean token", "DigitalOcean 令牌", True),
    "cloudflare": ("{url40}", "cloudflare_api_token", "Cloudflare API token", "Cloudflare 令牌", False),
    "heroku": ("{uuid}", "heroku_api_key", "Heroku API key", "Heroku 密钥", False),
    "databricks": ("dapi{hex32}", "databricks_token", "Databricks token", "Databricks 令牌", True),
    "supabase": ("sbp_{hex40}", "supabase_access_token", "Supabase token", "Supabase 令牌", True),
    "planetscale": ("pscale_pw_{url43}", "planetscale_password", "PlanetScale password", "PlanetScale 密码", True),
    # operations
    "datadog": ("{hex32}", "dd_api_key", "Datadog API key", "Datadog 接口密钥", False),
    "datadog-app": ("{hex40}", "datadog_app_key", "Datadog app key", "Datadog 应用密钥", False),
    "new-relic": ("NRAK-{up27}", "new_relic_api_key", "New Relic key", "New Relic 密钥", True),
    "grafana": ("glsa_{an32}_{hex8}", "grafana_token", "Grafana service token", "Grafana 令牌", True),
    "sentry-user": ("sntryu_{hex64}", "sentry_auth_token", "Sentry token", "Sentry 令牌", True),
    "vault": ("hvs.{url90}", "vault_token", "Vault token", "Vault 令牌", True),
    "vault-old": ("s.{an24}", "vault_token", "Vault token", "Vault 令牌", False),
    "terraform-cloud": ("{an14}.atlasv1.{url64}", "tfe_token", "Terraform Cloud token", "Terraform 令牌", True),
    "pulumi": ("pul-{hex40}", "pulumi_access_token", "Pulumi token", "Pulumi 令牌", True),
    "doppler": ("dp.pt.{an43}", "doppler_token", "Doppler token", "Doppler 令牌", True),
    "sonar": ("squ_{hex40}", "sonar_token", "SonarQube token", "Sonar 令牌", True),
    "postman": ("PMAK-{hex24}-{hex34}", "postman_api_key", "Postman key", "Postman 密钥", True),
    "circleci": ("CCIPAT_{an22}_{hex40}", "circle_token", "CircleCI token", "CircleCI 令牌", True),
    # work places
    "atlassian": ("ATATT3xFfGF0{url180}={HEX8}", "jira_api_token", "Jira API token", "Jira 令牌", True),
    "linear": ("lin_api_{an40}", "linear_api_key", "Linear key", "Linear 密钥", True),
    "notion": ("ntn_{an46}", "notion_token", "Notion token", "Notion 令牌", True),
    "airtable": ("pat{an14}.{hex64}", "airtable_token", "Airtable token", "Airtable 令牌", True),
    "figma": ("figd_{url40}", "figma_token", "Figma token", "Figma 令牌", True),
    "age": ("AGE-SECRET-KEY-1{bech58}", "age_key", "age key", "age 私钥", True),
    "mapbox": ("sk.eyJ{an80}.{url22}", "mapbox_token", "Mapbox token", "Mapbox 令牌", True),
    # anybody's
    "jwt": ("{jwt}", "id_token", "id token", "登录令牌", True),
    "hex-secret": ("{hex64}", "secret_key", "secret key", "签名密钥", False),
    "base64-secret": ("{b6443}=", "jwt_secret", "JWT secret", "JWT 密钥", False),
    "short-hex": ("{hex16}", "encryption_key", "encryption key", "加密密钥", False),
    "laravel": ("base64:{b6443}=", "app_key", "app key", "应用密钥", False),
    "django": ("django-insecure-{sym50}", "secret_key", "secret key", "Django 密钥", True),
    "random": ("{b6460}", "cookie_secret", "cookie secret", "Cookie 加密串", True),
    "password": ("{pw}", "db_password", "database password", "数据库密码", False),
    "password-short-name": ("{pw}", "pass", "password", "口令", False),
    "password-login": ("{pw}", "admin_pwd", "admin password", "管理员密码", False),
    "password-phrase": ("{hyphenphrase}", "passphrase", "passphrase", "密码短语", False),
    "otp": ("otpauth://totp/Acme:bob?secret=«{b3232}»&issuer=Acme", "otp_url", "TOTP link", "动态口令链接", True),
    "totp-seed": ("{b3232}", "totp_secret", "TOTP secret", "动态口令密钥", False),
    "ethereum": ("0x{hex64}", "private_key", "wallet private key", "钱包私钥", False),
    "bcrypt": ("$2b$12${an53}", "password_hash", "password hash", "密码哈希", True),
    "shadow": ("$6${an16}${an86}", "root_hash", "root hash", "root 的哈希", True),
    "session-id": ("{an32}", "session_id", "session id", "会话 ID", False),
    # connection strings
    "postgres": ("postgresql://{user}:«{plainpw}»@{host}:5432/app", "database_url", "database URL", "数据库地址", True),
    "mysql": ("mysql+pymysql://{user}:«{plainpw}»@{host}/shop?charset=utf8mb4", "db_url", "DSN", "数据库连接串", True),
    "mongodb": ("mongodb+srv://{user}:«{plainpw}»@{host}/?w=majority", "mongo_uri", "Mongo URI", "Mongo 连接串", True),
    "redis": ("redis://:«{plainpw}»@{host}:6379/0", "redis_url", "Redis URL", "Redis 地址", True),
    "amqp": ("amqps://{user}:«{plainpw}»@{host}/vhost", "broker_url", "broker URL", "消息队列地址", True),
    "jdbc": (
        "jdbc:mysql://{host}:3306/app?user={user}&password=«{plainpw}»&useSSL=false",
        "jdbc_url", "JDBC URL", "JDBC 连接串", True,
    ),
    "ado": (
        "Server=tcp:{host},1433;Database=app;User ID={user};Password=«{plainpw}»;Encrypt=True;",
        "connection_string", "connection string", "连接字符串", True,
    ),
    "odbc": ("Driver=FreeTDS;Server={host};Uid={user};Pwd=«{plainpw}»;", "odbc_dsn", "ODBC string", "ODBC 串", True),
    "libpq": ("host={host} dbname=app user={user} password=«{plainpw}»", "pg_dsn", "DSN", "连接参数", True),
    "go-mysql": ("{user}:«{plainpw}»@tcp({host}:3306)/app?parseTime=true", "mysql_dsn", "DSN", "Go 的 DSN", True),
    "azure-connection": (
        "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=«{b6486}==»;EndpointSuffix=core.windows.net",
        "azure_storage_connection", "storage connection", "存储连接串", True,
    ),
    "azure-bus": (
        "Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«{b6443}=»",
        "bus_connection", "service bus connection", "服务总线连接串", True,
    ),
    "azure-sas": (
        "https://acme.blob.core.windows.net/logs?sv=2022-11-02&se=2024-06-01&sr=c&sp=rl&sig=«{an40}%3D»",
        "sas_url", "SAS link", "SAS 链接", True,
    ),
    "aws-signed": (
        "https://acme.s3.amazonaws.com/a.zip?X-Amz-Expires=300&X-Amz-Signature=«{hex64}»",
        "download_url", "download link", "下载链接", True,
    ),
    "git-remote": ("https://oauth2:«{an30}»@git.acme.io/team/app.git", "remote_url", "remote", "仓库地址", True),
    "git-remote-token": ("https://«ghp_{an36}»@github.com/acme/app.git", "remote_url", "remote", "远端地址", True),
    "sentry-dsn": ("https://{hex32}:«{hex32}»@sentry.acme.io/4", "sentry_dsn", "Sentry DSN", "Sentry 地址", True),
    "query-token": ("https://api.acme.io/v1/me?access_token=«{an40}»", "profile_url", "profile URL", "接口地址", True),
    # people
    "email": ("{email}", "contact", "contact", "联系人", True),
    "cn-mobile": ("{mobile}", "mobile", "mobile number", "手机号", True),
    "cn-landline": ("{landline}", "tel", "telephone", "座机", True),
    "us-phone": ("{usphone}", "phone", "phone number", "电话", True),
    "world-phone": ("{worldphone}", "phone_number", "phone", "联系电话", True),
    "cn-id": ("{idcard}", "id_number", "ID card number", "身份证号", True),
    "bank-card": ("{card}", "card_number", "card number", "银行卡号", True),
}  # fmt: skip

SNIPPETS: dict[str, str] = {
    "rsa": "-----BEGIN RSA PRIVATE KEY-----\n«{pem}»\n-----END RSA PRIVATE KEY-----",
    "rsa-encrypted": (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{HEX32}\n\n«{pem}»\n"
        "-----END RSA PRIVATE KEY-----"
    ),
    "pkcs8": "-----BEGIN PRIVATE KEY-----\n«{pem}»\n-----END PRIVATE KEY-----",
    "ec": "-----BEGIN EC PRIVATE KEY-----\n«{shortpem}»\n-----END EC PRIVATE KEY-----",
    "openssh": "-----BEGIN OPENSSH PRIVATE KEY-----\n«{pem}»\n-----END OPENSSH PRIVATE KEY-----",
    "pgp": (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n«{pem}»\n=a9Zx\n"
        "-----END PGP PRIVATE KEY BLOCK-----"
    ),
    "putty": (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: deploy\nPublic-Lines: 1\n{b6468}\n"
        "Private-Lines: 1\n«{b6448}»\nPrivate-MAC: {hex64}"
    ),
    "cut-pem": "-----BEGIN RSA PRIVATE KEY-----\n«{pem}»",
    "gcp-account": (
        '{"type": "service_account", "project_id": "acme", "private_key_id": "«{hex40}»", "private_key": '
        '"-----BEGIN PRIVATE KEY-----\\n«{b6464}»\\n«{b6464}»\\n-----END PRIVATE KEY-----\\n", "client_email": '
        '"ci@acme.iam.gserviceaccount.com"}'
    ),
    "aws-credentials": (
        "[default]\naws_access_key_id = «AKIA{b3216}»\naws_secret_access_key = «{b6440}»\nregion = eu-west-1"
    ),
    "aws-pair": "aws key for the backup job\n«AKIA{b3216}»\n«{b6440}»",
    "netrc": "machine git.acme.io\n  login {user}\n  password «{plainpw}»",
    "netrc-line": "machine api.heroku.com login bob password «{hex36}»",
    "htpasswd": "{user}:«$apr1${an8}${an22}»",
    "htpasswd-sha": "{user}:«{sha}{b6427}=»",
    "shadow-line": "root:«$6${an16}${an86}»:19500:0:99999:7:::",
    "pgpass": "{host}:5432:app:{user}:«{plainpw}»",
    "kubeconfig": (
        "users:\n- name: admin\n  user:\n    client-certificate-data: {b6480}\n    client-key-data: «{b64400}»\n"
        "    token: «{jwt}»"
    ),
    "kubernetes-secret": (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  password: «{b6422}==»\n"
        "  username: YWRtaW4="
    ),
    "docker-config": '{"auths": {"registry.acme.io": {"auth": "«{basic}»"}}}',
    "npmrc": "registry=https://npm.acme.io/\n//npm.acme.io/:_authToken=«{uuid}»\nalways-auth=true",
    "npmrc-basic": "//npm.acme.io/:_password=«{b6430}==»\n//npm.acme.io/:username=ci",
    "pip-conf": "[global]\nindex-url = https://{user}:«{plainpw}»@pypi.acme.io/simple",
    "maven": "<server>\n  <id>nexus</id>\n  <username>ci</username>\n  <password>«{plainpw}»</password>\n</server>",
    "nuget": '<add key="Username" value="ci" />\n<add key="ClearTextPassword" value="«{plainpw}»" />',
    "basic-header": "GET /v1 HTTP/1.1\nHost: api.acme.io\nAuthorization: Basic «{basic}»",
    "bearer-header": "curl https://api.acme.io/v1 \\\n  -H 'Authorization: Bearer «{an40}»'",
    "token-header": "Authorization: token «{hex40}»",
    "elastic-header": "Authorization: ApiKey «{b6456}==»",
    "aws-header": (
        "Authorization: AWS4-HMAC-SHA256 Credential=«AKIA{b3216}»/20240502/eu-west-1/s3/aws4_request, "
        "SignedHeaders=host, Signature=«{hex64}»"
    ),
    "key-header": "POST /v2/items HTTP/2\nx-api-key: «{an40}»\naccept: */*",
    "subscription-header": "Ocp-Apim-Subscription-Key: «{hex32}»",
    "digest-header": "Proxy-Authorization: Basic «{basic}»\nUser-Agent: curl/8.4",
    "cookie": "Cookie: theme=dark; sessionid=«{low32}»; csrftoken=«{an32}»",
    "set-cookie": "Set-Cookie: JSESSIONID=«{HEX32}»; Path=/; HttpOnly; Secure",
    "cookie-curl": "curl 'https://app.acme.io/me' -b 'sid=«s%3A{url32}»; lang=zh'",
    "cookie-js": 'document.cookie = "auth=«{an40}»; path=/"',
    "curl-user": "curl -u {user}:«{plainpw}» https://ci.acme.io/job/build",
    "wget-password": "wget --user={user} --password='«{pw}»' https://files.acme.io/a.zip",
    "mysql-flag": "mysql -h {host} -u {user} -p«{plainpw}» shop < dump.sql",
    "redis-cli": "redis-cli -h {host} -a «{plainpw}» info",
    "sshpass": "sshpass -p '«{pw}»' ssh {user}@{host} uptime",
    "pgpassword": "PGPASSWORD=«{plainpw}» psql -h {host} -U {user} app",
    "docker-login": "docker login -u acme -p «{plainpw}» registry.acme.io",
    "ldap": "ldapsearch -x -D 'cn=admin,dc=acme,dc=io' -w «{plainpw}» -b dc=acme,dc=io",
    "keytool": "keytool -list -keystore app.jks -storepass «{plainpw}»",
    "openssl-pass": "openssl rsa -in key.pem -passin pass:«{plainpw}» -out plain.pem",
    "chpasswd": "echo '{user}:«{pw}»' | chpasswd",
    "net-use": "net use Z: \\\\files\\team /user:ACME\\bob «{plainpw}»",
    "secure-string": '$p = ConvertTo-SecureString "«{pw}»" -AsPlainText -Force',
    "alter-user": "ALTER USER app WITH PASSWORD '«{pw}»';",
    "identified-by": "CREATE USER 'app'@'%' IDENTIFIED BY '«{pw}»';",
    "requirepass": "# redis.conf\nrequirepass «{plainpw}»\nmaxmemory 2gb",
    "jaas": (
        'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="app" '
        'password="«{plainpw}»";'
    ),
    "wireguard": "[Interface]\nPrivateKey = «{b6443}=»\nAddress = 10.0.0.2/32\n\n[Peer]\nPresharedKey = «{b6443}=»",
    "wifi": 'network={\n  ssid="office"\n  psk="«{phrase}»"\n}',
    "rails": "production:\n  secret_key_base: «{hex128}»",
    "phrase-json": '{"user": "bob", "password": "«{phrase}»"}',
    "phrase-prose": 'The vault opens with the passphrase "«{phrase}»", please do not share it.',
    "phrase-zh": "保险库的密码是“«{phrase}»”，不要外传。",
    "phrase-env": 'BACKUP_PASSPHRASE="«{phrase}»"',
    "phrase-yaml": "restic:\n  password: «{phrase}»\n  repo: /srv/backup",
    "seed": "wallet mnemonic: «{seed}»",
    "seed-zh": "钱包助记词：«{seed}»",
    "account-slash": "后台账号密码：admin / «{plainpw}»",
    "account-en": "login for staging: bob / «{plainpw}» (password)",
    "login-lines": "用户名:{user}\n密码:«{pw}»\n地址:http://{host}",
    "login-lines-en": "user: {user}\npass: «{pw}»\nhost: {host}",
    "login-inline": "username={user}, password=«{pw}», role=owner",
    "wechat-config": '"appid": "wx{hex16}",\n"secret": "«{hex32}»"',
    "oauth-answer": '{"access_token":"«{an60}»","token_type":"bearer","refresh_token":"«{an60}»","expires_in":3600}',
    "oauth-request": (
        "curl -X POST https://sso.acme.io/token -d client_id=app -d client_secret=«{an32}» "
        "-d grant_type=client_credentials"
    ),
    "person": "姓名：王小明，电话：«{mobile}»，身份证：«{idcard}»，邮箱：«{email}»",
    "person-en": "Ann Miller <«{email}»>, «{usphone}», pays with «{card}»",
    "git-author": "commit {hex40}\nAuthor: Ann Miller <«{email}»>\n\n    Fix the build",
}
