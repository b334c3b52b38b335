% zh: 出错时说清楚，并给出下一步
$ kb lst
$ kb list --kind 小说
$ kb show D404
$ kb 加载 没有
$ kb write --kind decision --title "键值不成对" --claim 胡说
$ kb write
$ echo '[1]' | kb write -
$ echo '{"kind": "decision"}' | kb write -
$ kb import adr 没有
