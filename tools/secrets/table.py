# ruff: noqa: E501  (patterns are read as a table)
"""Credentials in text, known by form: issuers' prefixes, private keys, passwords in addresses, values named as one.

One table for two readers. `redact` masks whatever has the form: it errs on hiding. The scan of training data
(`personal.find`) also asks the row's `valid`: it errs on not alarming, so placeholders and plain words are no finds.

The shapes are the issuers' published ones. No detector is depended on: detect-secrets 1.5 has had no release since
2024, misses Hugging Face, OpenAI project and W&B keys, and takes log lines for secrets.
"""

from __future__ import annotations

import re

from ..registry import table
from .forms import assigned, irregular, key_body, random_token, token, url_password
from .naming import ASSIGNED, NO_VALUE, SIEVE, WORDS, YAML_LINE, named
from .row import Secret

_PASSWORD_OPTIONS = {
    r"mysql(?:dump|admin)?|mariadb": r"-p(?=[^\s-])",
    r"sshpass|docker login|mongo(?:sh|dump|restore)?": r"-p[ =]?",
    r"curl|wget|etcdctl": r"(?:-u|--user)[ =]{0,9}[\"']?[^\s:\"']{1,80}:",
    r"redis-cli": r"-a ",
    r"ossutil(?:64)?|obsutil|tosutil|coscli|coscmd": r"-s?k[ =]",
    r"mc": r"(?:alias set|config host add)(?:\s{1,9}[^\s|;&]{1,200}){3}\s{1,9}",
    r"sqlcmd|ipmitool": r"-P ?",
    r"smbclient": r"-U ?[\"']?[^\s%]{1,80}%",
    r"openssl": r"-pass(?:in|out)?\s{1,9}[\"']?pass:",
}
"""Program -> what stands before a password among its options."""

SECRETS: tuple[Secret, ...] = (
    Secret("private-key", ("private key", "age-secret-key"), r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)|AGE-SECRET-KEY-1[A-Z0-9]{20,}"
           r"|(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{16,100}={0,2}(?:\s|\\n){1,4}){1,60}-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----", ("-----BEGIN RSA PRIVATE KEY----- {a60} -----END RSA PRIVATE KEY-----", "key: '-----BEGIN PGP PRIVATE KEY BLOCK----- {a64}", "AGE-SECRET-KEY-1{u58}", "{a64} {a64} {a20}= -----END RSA PRIVATE KEY-----"), ("expected BEGIN PRIVATE KEY", "-----BEGIN PUBLIC KEY----- {a60}"), key_body),
    Secret("huggingface-token", ("hf_", "api_org_"), r"\b(?:hf|api_org)_[A-Za-z0-9]{20,}\b", ("login --token hf_{a34}", "api_org_{a34}"), ("hf_hub_download hf_transfer=1", "hf_olmo_{a34}"), token(33)),
    Secret("anthropic-key", ("sk-ant-",), r"\bsk-ant-(?:[a-z0-9]{1,12}-)?[A-Za-z0-9_-]{20,}", ("export KEY=sk-ant-api03-{a80}",), ("sk-ant-lion",), token(31)),
    Secret("openai-key", ("sk-",), r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,}", ("OPENAI_API_KEY=sk-{a48}", "sk-proj-{a64}", "sk-or-v1-{x64}"), ("task-{a48}", "sk-learn-contrib-models-without-digits-in-them"), token(43)),
    Secret("aws-key", ("akia", "asia", "abia", "acca", "aws"), r"\b(?:AKIA|ASIA|ABIA|ACCA)(?![ACGTNU]{16}\b)[0-9A-Z]{16}\b|(?i:aws[a-z_ ]{0,20}(?:secret|key|token)[a-z_ ]{0,20})[\"']?\s*[:=]+\s*[\"']?(?P<value>[A-Za-z0-9/+=]{40,})", ("aws_access_key_id = AKIA{u16}", "ASIA{u16}", "ABIA{u16}", "ACCA{u16}", "AWS_SECRET_ACCESS_KEY={a40}"), ("aws s3 cp s3://bucket/key .", "read ACCAGATTACAGATTACAGA")),
    Secret("google-key", ("aiza", "ya29.", "gocspx-"), r"\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[0-9A-Za-z_-]{20,}", ("key=AIza{a35}", "ya29.{a60}", "GOCSPX-{a28}"), ("AIzawa et al. 2024",)),
    Secret("azure-key", ("accountkey", "sharedaccess", "sig=", "8q~", "7q~"), r"\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=(?P<value>[A-Za-z0-9%+/=&-]{20,})|\bsig=[A-Za-z0-9%+/=]{30,}|\b[A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}", ("azure: AccountKey={a86}==;EndpointSuffix=x", "SharedAccessKey={a43}=", "https://x/y?sv=2024&sig={a43}%3D", "abc8Q~{a33}"), ("sig=sigmoid", "AccountKey=$KEY"), token(0, 3)),
    Secret("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_[A-Za-z0-9_]{30,}\b", ("https://ghp_{a36}@github.com/x/y", "ghs_{a36}", "github_pat_{a22}_{a59}"), ("ghp_token is not set",)),
    Secret("gitlab-token", ("glpat-", "gldt-", "glrt-"), r"\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}", ("glpat-{a20}", "gldt-{a20}", "glrt-{a20}"), ("glpat-token",)),
    Secret("slack-token", ("xox", "xapp-", "hooks.slack.com"), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/(?P<value>[A-Za-z0-9/]+)", ("SLACK=xoxb-{d12}-{a24}", "xapp-1-{u11}-{d13}-{x64}", "https://hooks.slack.com/services/T{u8}/B{u8}/{a24}"), ("https://hooks.slack.com/services/",), token(15)),
    Secret("wandb-key", ("wandb", "w&b", "weights"), r"\bwandb_v1_[A-Za-z0-9_]{20,}|(?i:wandb|w&b|weights ?& ?biases)(?:(?!(?i:commit|sha|hash|revision))[^\n]){0,40}?(?<![0-9a-z])(?P<value>[0-9a-f]{40})\b", ("wandb login {x40}", "WANDB_API_KEY={x40}", "wandb_v1_{a60}"), ("weights at commit {x40}", "wandb: run {x8} sha256 {x64}", "wandb commit: {x40}")),
    Secret("stripe-key", ("_live_",), r"\b[sr]k_live_[0-9A-Za-z]{16,}", ("sk_live_{a24}", "rk_live_{a24}"), ("task_live_{a24}",)),
    Secret("sendgrid-key", ("sg.",), r"\bSG\.[\w-]{20,24}\.[\w-]{40,46}", ("SG.{a22}.{a43}",)),
    Secret("npm-token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}", ("//registry/:_authToken=npm_{a36}",), ("npm_config_cache=x",)),
    Secret("pypi-token", ("pypi-",), r"\bpypi-Ag[\w-]{50,}", ("pypi-AgEIcHlwaS5vcmc{a60}",), ("pypi-mirror",)),
    Secret("nvidia-key", ("nvapi-",), r"\bnvapi-[\w-]{40,}", ("NGC: nvapi-{a64}",), ("nvapi-client",)),
    Secret("groq-key", ("gsk_",), r"\bgsk_[A-Za-z0-9]{40,}", ("gsk_{a52}",), ("gsk_score=0.5",)),
    Secret("replicate-token", ("r8_",), r"\br8_[A-Za-z0-9]{37}", ("r8_{a37}",), ("r8_unorm",)),
    Secret("databricks-token", ("dapi",), r"\bdapi[a-f0-9]{32}\b", ("dapi{x32}", "dapi{x32}-2"), ("dapi {x32}",)),
    Secret("digitalocean-token", ("dop_v1_",), r"\bdop_v1_[a-f0-9]{64}", ("dop_v1_{x64}",)),
    Secret("square-secret", ("sq0csp-",), r"\bsq0csp-[\w-]{43}", ("sq0csp-{a43}",)),
    Secret("discord-webhook", ("discord",), r"discord(?:app)?\.com/api/webhooks/(?P<value>[\w/-]{20,})", ("https://discord.com/api/webhooks/{d18}/{a68}",)),
    Secret("telegram-token", (":aa",), r"(?<!\d)\d{8,10}:AA[\w-]{33}\b", ("chat via {d10}:AA{a33}", "https://api.telegram.org/bot{d10}:AA{a33}/sendMessage"), ("12:AA:3F",)),
    Secret("xai-key", ("xai-",), r"\bxai-[A-Za-z0-9]{40,}", ("xai-{a80}",), ("xai-sdk",)),
    Secret("langsmith-key", ("lsv2_",), r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", ("lsv2_pt_{x32}_{x10}",), ("lsv2_pt_missing",)),
    Secret("vault-token", ("hvs.", "hvb.", "hvr."), r"\bhv[sbr]\.[\w-]{20,}", ("login hvs.{a90}", "hvb.{a90}"), ("hvs.init",)),
    Secret("grafana-token", ("glsa_", "glc_"), r"\bglsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|\bglc_[A-Za-z0-9+/]{32,}={0,2}", ("glsa_{a32}_{x8}", "glc_{a60}"), ("glsa_x",)),
    Secret("tailscale-key", ("tskey-",), r"\btskey-[a-z]{2,12}-[A-Za-z0-9-]{16,}", ("tskey-auth-{a16}-{a32}",), ("tskey-auth",)),
    Secret("pinecone-key", ("pcsk_",), r"\bpcsk_[A-Za-z0-9_]{20,}", ("pcsk_{a5}_{a60}",), ("pcsk_x",)),
    Secret("fireworks-key", ("fw_",), r"\bfw_(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{20,40}\b", ("fw_{a24}",), ("fw_bwd_time fw_latency=3",)),
    Secret("notion-token", ("ntn_", "secret_"), r"\bntn_[A-Za-z0-9]{40,}|\bsecret_[A-Za-z0-9]{43}\b", ("ntn_{a46}", "x secret_{a43}"), ("ntn_x",)),
    Secret("linear-key", ("lin_",), r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}", ("lin_api_{a40}",), ("lin_api_x",)),
    Secret("perplexity-key", ("pplx-",), r"\bpplx-[A-Za-z0-9]{32,}", ("pplx-{a48}",), ("pplx-70b-online",)),
    Secret("doppler-token", ("dp.",), r"\bdp\.(?:st|pt|ct|sa|scim|audit)\.[\w.-]{30,}", ("dp.st.prd.{a40}", "dp.pt.{a43}"), ("dp.st.x",)),
    Secret("google-refresh-token", ("1//0",), r"\b1//0[\w-]{30,}", ("1//0{a60}",), ("1//0x",)),
    Secret("cloud-access-key", ("aklt", "ltai", "akid", "altak"), r"\bAKLT[A-Za-z0-9+/_-]{20,}={0,2}|\bLTAI[A-Za-z0-9]{16,24}\b|\bAKID[A-Za-z0-9]{32}\b|\b(?:bce-v3/)?ALTAK-[\w/-]{20,}", ("AKLT{a40}", "LTAI{a20}", "AKID{a32}", "bce-v3/ALTAK-{a21}/{x40}"), ("AKLT is not set", "LTAI5t")),
    Secret("chat-webhook", ("/hook/", "webhook/send", "robot/send"), r"(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/(?P<feishu>[\w-]{20,})|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=(?P<wecom>[\w-]{20,})|oapi\.dingtalk\.com/robot/send\?access_token=(?P<dingtalk>\w{20,})",
           ("https://open.feishu.cn/open-apis/bot/v2/hook/{x8}-0c1d-4e2f-8a3b-{x12}", "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={x8}-0c1d-4e2f-8a3b-{x12}", "https://oapi.dingtalk.com/robot/send?access_token={x64}"), ("https://open.feishu.cn/open-apis/bot/v2/hook/",)),
    Secret("docker-token", ("dckr_",), r"\bdckr_(?:pat|oat)_[\w-]{20,}", ("dckr_pat_{a27}",), ("dckr_pat_x",)),
    Secret("together-key", ("tgp_v1_",), r"\btgp_v1_[\w-]{30,}", ("tgp_v1_{a43}",)),
    Secret("sentry-token", ("sntry",), r"\bsntry[su]_[\w+/=-]{30,}", ("sntryu_{x64}",)),
    Secret("postman-key", ("pmak-",), r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}", ("PMAK-{x24}-{x34}",)),
    Secret("newrelic-key", ("nrak-",), r"\bNRAK-[A-Z0-9]{20,}", ("NRAK-{u27}",)),
    Secret("terraform-token", (".atlasv1.",), r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}", ("{a14}.atlasv1.{a67}",)),
    Secret("pulumi-token", ("pul-",), r"\bpul-[0-9a-f]{40}\b", ("pul-{x40}",), ("pul-request",)),
    Secret("atlassian-token", ("atatt3", "atctt3"), r"\bAT[AC]TT3[\w=-]{30,}", ("ATATT3{a90}",)),
    Secret("shopify-token", ("shp",), r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b", ("shpat_{x32}",)),
    Secret("tavily-key", ("tvly-",), r"\btvly-[\w-]{30,}", ("tvly-dev-{a32}",), ("tvly-dev",)),
    Secret("brevo-key", ("xkeysib-",), r"\bxkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}", ("xkeysib-{x64}-{a16}",)),
    Secret("supabase-key", ("sbp_", "sb_secret_"), r"\bsbp_[0-9a-f]{40}\b|\bsb_secret_[\w-]{20,}", ("sbp_{x40}", "sb_secret_{a31}")),
    Secret("runpod-key", ("rpa_",), r"\brpa_[A-Z0-9]{30,}[A-Za-z0-9]{0,20}", ("rpa_{u42}",), ("rpa_score",)),
    Secret("posthog-key", ("phx_", "phc_"), r"\bph[xc]_[A-Za-z0-9]{40,}", ("phx_{a43}",)),
    Secret("jwt", ("eyj",), r"\beyJ[A-Za-z0-9_-]{10,1000}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*", ("cookie eyJ{a20}.eyJ{a30}.{a30}",), ("eyJ{a20}",)),
    Secret("modelscope-token", ("ms-",), r"\bms-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", ("login('ms-{x8}-0c1d-4e2f-8a3b-{x12}')",), ("ms-swift", "12.5ms-{x8}")),
    Secret("signed-address", ("signature", "security-token", "response="), r"(?i:(?<![a-z])(?:x-[a-z]{2,6}-|q-)?(?:signature|security-token)=)(?P<value>[A-Za-z0-9%+/=_~.-]{20,})|(?i:authorization\\{0,3}[\"']?[ \t]{0,9}[:=][ \t]{0,9}\\{0,3}[\"']?(?:digest|hawk|oauth|mac)[ ][^\n]{0,400}?response=\\{0,3}[\"'])(?P<digest>[0-9a-fA-F]{16,})",
           ("https://b.s3.aws/x?X-Amz-Expires=60&X-Amz-Signature={x64}", "AWS4-HMAC-SHA256 SignedHeaders=host, Signature={x64}", "https://b.oss/x?OSSAccessKeyId=1&Signature={a27}%3D", 'Authorization: Digest username="u", uri="/", response="{x32}"'), ("signature=sha256", "inspect.signature=function"), token(20)),
    Secret("bearer-token", ("bearer ", "authorization"), r"(?i:bearer (?P<value>[a-z0-9._~+/-]{20,}=*)|authorization\\{0,3}[\"']?[ \t]{0,9}[:=][ \t]{0,9}\\{0,3}[\"']?(?:token|basic|apikey|bot|bearer)[ ](?P<basic>[a-z0-9._~+/-]{8,}=*))", ("Authorization: Bearer {a40}", "authorization: Basic {a24}=="), ("the bearer of this letter", "bearer token is missing"), token(0, 2)),
    Secret("url-password", ("://",), r"://(?!\[secret:)(?:(?P<value>[^\s/:@\"']{0,80}:(?!\d{1,5}/)[^\s\"'<>]{1,200})|(?P<user>[A-Za-z0-9_-]{20,200}))@(?!sha256:)", ("postgres://admin:{a14}@db.prod.net/x", "redis://:{a14}@db:1", "git+https://{a32}@h/x", "postgres://u:{a9}@{a3}/{a4}@db.prod.net/x"), ("http://10.0.0.7:8080/a", "see https://x.org/@someone", "ssh://git@host/x"), url_password),
    Secret("command-password", ("mysql", "mariadb", "sshpass", "curl", "wget", "docker login", "redis-cli", "etcdctl", "ossutil", "obsutil", "coscli", "coscmd", "tosutil", "mongo", "mc alias", "mc config", "chpasswd",
            "password-stdin", "--stdin", "with-token", "sudo -s", "identified by", "openssl", "sqlcmd", "ipmitool", "smbclient"), "|".join(rf"\b(?:{program})\b[^\n|;&]{{0,200}}?\s{option}[\"']?(?P<of_{i}>[^\s\"']{{1,200}})" for i, (program, option) in enumerate(_PASSWORD_OPTIONS.items()))
           + r"|\becho\s{1,9}(?:-n\s{1,9})?[\"']?(?P<piped>[^\s\"'|;&][^\n\"'|;&]{0,200}?)[\"']?\s{0,9}\|[^\n|;]{0,200}?(?:--password-stdin|--stdin|--with-token|\bchpasswd|\bsudo -S)\b|(?i:\bidentified\s{1,9}by\s{1,9}(?:password\s{1,9})?)'(?P<sql>[^'\n]{1,200})'", ("mysql -u root -p{a14}", "sshpass -p '{a14}' ssh h", "curl -s -u admin:{a14} https://h/x", "docker login -u me -p {a24} reg", "etcdctl --user root:{a16} get /x", "ossutil config -i x -k {a30}",
            "mc alias set lake http://h:9000 admin {a20}", "echo '{a14}' | docker login -u me --password-stdin reg", "CREATE USER a IDENTIFIED BY '{a14}'", "openssl rsa -in k -passin pass:{a14}"), ("mysql -u root -p db", "curl -u $CREDS https://h", "ssh -p 2222 host", "curl -s https://h/x:y", "docker run -u 1000:1000 img", "echo $PW | docker login --password-stdin r",
            "mc alias set lake http://h:9000", "ossutil cp -r oss://b/x . -k", "echo done | tee x"), strong=False, form=lambda head, value: not NO_VALUE.fullmatch(value)),
    Secret("given-secret", ("client", "login", "auth", "connect"), r"(?i:\b\w{0,40}(?:client|login|auth|connect)\w{0,12}\([ ]{0,3}\\{0,3}[\"'])(?P<only>[\w+=-]{16,300})\\{0,3}[\"']|(?i:\b\w{0,40}(?:login|auth|authenticate)\w{0,12}(?:[ ]?=[ ]?)?\([ ]{0,3}[\"'][^\"'\n]{1,100}[\"'],[ ]{0,3}[\"'])(?P<second>[^\"'\n]{3,200})[\"']",
           ('cohere.ClientV2("{a40}")', "api.login('{x40}')", "smtp.login('me@x.org', '{a14}')", "requests.get(u, auth=('me', '{a14}'))"), ('Client("localhost")', "login('meta-llama/Llama-3.1-8B')", 'connect("gpu-node-07-internal-name")', "client('my_long_experiment_name_2')", "auth(user, password)"), strong=False, form=lambda head, value: "," in head or (len(value) >= 20 and random_token(value, "", "") and irregular(value))),
    Secret("told-secret", ("key", "token", "secret", "=> '", "sk=", "sk:", "sk\"", "sk'"), r"(?i:\b(?:unseal|recovery|root|master|api|access|secret|private|encryption|bot|session|refresh|deploy)[ ](?:key|token|secret)(?:[ ]#?\d{1,2})?(?:[ ]?[:=]|[ ]is)[ ]{0,9}[\"']?)(?P<said>[A-Za-z0-9+/=_.-]{16,300})"
           r"|(?<![\w-])[\"']?(?i:sk)[\"']?[ ]{0,4}[:=][ ]{0,4}[\"'](?P<sk>[A-Za-z0-9+/=]{30,300})[\"']|\bsecrets\.\w{1,80}[^\n]{0,20}\n[^\n]{0,60}=>[ ]'(?P<next>[^'\n]{1,300})'|\[debug\]=>[ ]'(?P<shown>[A-Za-z0-9+/=_-]{16,300})'",
           ("Unseal Key 1: {a43}=", "Client(ak='x', sk='{a58}==')", "##[debug]Evaluating: secrets.DB_PASS\n##[debug]=> '{a22}'", "the api key is {a32}"), ("api key is missing", "sk: 'sklearn'", "##[debug]=> 'refs/heads/main'", "Session token: none", "secret key 1: abc"), strong=False, form=lambda head, value: "secrets." in head or irregular(value)),
    Secret("cookie", ("cookie",), r"(?i:\b(?:set-)?cookie[\"']?[ \t]{0,9}[:=][ \t]{0,9}[\"']?)(?P<value>[\w.-]{1,80}=[^\s\"';]{4,1000}(?:;[ ]?[\w.-]{1,80}(?:=[^\s\"';]{0,1000})?){0,40})", ("Cookie: session={a24}", "set-cookie: sid={a24}; Path=/; HttpOnly", '"Cookie": "a={a24}; b={x24}"'), ("cookies: 5", "cookie=true", "Cookie: consent"), strong=False),
    Secret("password-line", ("passw", "passphrase", "pwd", "secret", "credential", "pass:", "pass\"", "pass'", "密码", "口令"), YAML_LINE, ("db:\n  password: {a14} {a8} # of x", "a:\n- smtp_passwd: {a12} {d4} {a6}"), ("Password: not asked for on this host", "pass: 3 of 5 tests", "password_policy: at least ten letters"), assigned, strong=False, form=lambda head, value: named(head.lstrip("- \t"), value)),
    Secret("assigned-secret", WORDS, ASSIGNED, ('api_key = "{a32}"', "db_password={a12}!x", "密码：{a14}", '"passwd": "{a14}"', "secret_key: {x40}", "--hub_token={a20}", 'openaiApiKey: "{a32}"',
            "VAULT_TOKEN={a24}", "NPM_TOKEN={x8}-0c1d-4e2f-8a3b-{x12}", "PGPASSWORD={a14}", "accessKeySecret: {a30}", "encryption_key: {a32}", "--password {a14}", "os.environ['SERPER_API_KEY'] = '{x40}'", "<name>fs.s3a.secret.key</name><value>{a40}</value>", "- name: DB_PASSWORD\n  value: {a14}", "密码是{a14}",
            "client-key-data: {a60}", '{\\"password\\": \\"{a14}\\"}', '"auth": "{a40}"'), ("pad_token: <pad> eos_token=</s> num_tokens: {d9}", "tokens per second: {d7}.8 tokenizer_path: /data/llama", "max_tokens=4096", "password: None", "password=$DB_PASSWORD", "password: ${DB_PASSWORD}", "api_key=os.environ['KEY']", "secret_name: train-{x8}", "PWD=/home/me/run", "cache_key: {x40}",
            "forward_pass: 12.5ms", "bos_token: <|begin_of_text|>", "sort_key: LengthGroupedSampler", "eos_token_id: 128009", "image_token: <image_1>", "--logger.wandb.key {wandb_token}", "--logger.wandb.key [WANDB_TOKENS] or True", "[*secret.hint, *(spelled(line)[:-3])]", "--password-stdin harbor.lan", "lowpass: 0.3"), assigned, strong=False, form=named, sieve=SIEVE),
)  # fmt: skip
"""In order: where two claim the same text the first has it, so issuers stand before addresses and names."""
table("SECRETS", ((secret.kind, secret) for secret in SECRETS))

_HINTS = [(hint, secret) for secret in SECRETS for hint in secret.hint]


def may_hold_secret(text: str) -> bool:
    """Whether a word stands in the text that each kind of credential has one of: much cheaper than `redact`."""
    low = text.lower()
    return any(hint in low for hint, _ in _HINTS)


def redact(text: str) -> str:
    """The text with every credential replaced by `[secret:KIND]`."""
    low = text.lower()
    for secret in dict.fromkeys(secret for hint, secret in _HINTS if hint in low):
        parts, at = [], 0
        for start, end in secret.spans(text):
            parts += [text[at:start], f"[secret:{secret.kind}]"]
            at = end
        text = "".join((*parts, text[at:])) if parts else text
    return text


_DRAWN = {"a": "k7Qz2mW9xR4tB6nY1vH8cJ3pL5sD0gF", "x": "3f9a0c7e1b6d8254", "u": "7QZ2MW9XR4TB6NY1", "d": "8301947265"}


def spelled(line: str) -> str:
    """A line of `shows` or `silent` with `{a34}` as 34 letters and digits (`x` hex, `u` capitals, `d` digits).

    So the repository holds no credential, not even an invented one that other scanners would report.
    """
    return re.sub(r"\{([axud])(\d+)\}", lambda m: (_DRAWN[m[1]] * 9)[: int(m[2])], line)
