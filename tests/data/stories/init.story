% none: make a knowledge base

$ kb init my-kb
<dir>/my-kb
2>   + content/.gitattributes
2>   + content/anchors/global/.gitkeep
2>   + content/anchors/projects/.gitkeep
2>   + content/sessions/.gitkeep
2>   + kb.toml
2> committed: 5 files
2> next: cd my-kb && kb new "Use PostgreSQL for orders"

% Again: what is there stays as it is.
$ kb init my-kb
<dir>/my-kb
2> nothing was missing

$ cd my-kb

$ git log --format=%s
Make a knowledge base

$ git status --short

$ kb list
2> no record

$ kb check
2> records: 0; no problems found

% With a workflow and a pre-commit configuration.
$ kb init ../with-ci --ci --name "Team base" --language zh
<dir>/with-ci
2>   + .github/workflows/kb-digest.yml
2>   + .github/workflows/kb-wiki.yml
2>   + .github/workflows/kb.yml
2>   + .pre-commit-config.yaml
2>   + content/.gitattributes
2>   + content/anchors/global/.gitkeep
2>   + content/anchors/projects/.gitkeep
2>   + content/sessions/.gitkeep
2>   + kb.toml
2> .github/workflows/kb.yml、.github/workflows/kb-wiki.yml、.github/workflows/kb-digest.yml、.pre-commit-config.yaml 还没有写明从哪里安装 kb：kb init --ci --from git+https://github.com/所有者/仓库@标签
2> 已提交 9 个文件
2> 下一步：cd <dir>/with-ci && kb new "订单使用 PostgreSQL"

$ grep -c "kb check --against" ../with-ci/.github/workflows/kb.yml
2

% Inside a code repository.
$ git init -q -b main ../shop

$ cd ../shop

$ kb init --here
<dir>/shop
2>   + content/.gitattributes
2>   + content/anchors/global/.gitkeep
2>   + content/anchors/projects/.gitkeep
2>   + content/sessions/.gitkeep
2>   + kb.toml
2> committed: 5 files
2> next: kb new "Use PostgreSQL for orders"

$ cat .gitattributes
2> cat: .gitattributes: No such file or directory
? 1

% What cannot be.
$ kb init --here somewhere
2> kb: give a PATH or --here, not both
2>     → see: kb init --help
? 2

$ touch a-file

$ kb init a-file
2> kb: <dir>/shop/a-file is a file
? 1
