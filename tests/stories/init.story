% none: make a knowledge base
$ kb init my-kb
% Again: what is there stays as it is.
$ kb init my-kb
$ cd my-kb
$ git log --format=%s
$ git status --short
$ kb list
$ kb check
% With a workflow and a pre-commit configuration.
$ kb init ../with-ci --ci --name "Team base" --language zh
$ grep -c "kb check" ../with-ci/.github/workflows/kb.yml
% Inside a code repository.
$ git init -q -b main ../shop
$ cd ../shop
$ kb init --here
$ cat .gitattributes
% What cannot be.
$ kb init --here somewhere
$ touch a-file
$ kb init a-file
