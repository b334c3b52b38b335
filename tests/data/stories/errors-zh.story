% zh: 出错时说清楚，并给出下一步

$ kb lst
2> kb: 没有命令 lst
2>     → 您是想用：kb list
? 2

$ kb list --kind 小说
2> kb: 没有类型 小说；可用：decision、constraint、interface、pitfall、pattern、preference、checklist、domain-note、learning
2>     → 见：kb list --help
? 2

$ kb list --scope 商店
2> kb: 没有范围 商店：只有 global 或 project/<名称>
2>     → 见：kb list --help
? 2

$ kb list --scope project/商店
2> project/商店 里没有记录；有哪些范围见：kb list

$ kb show D404
2> kb: 没有记录 D404
2>     → 见：kb list
? 1

$ kb 加载 没有
2> kb: 没有会话 没有
2>     → 见：kb session list --all
? 1

$ kb write --kind decision --title "键值不成对" --claim 胡说
2> kb: “胡说”不是 KEY=VALUE 的形式
2>     → 见：kb write --help
? 2

$ kb write
2> kb: 请给出文件、-（标准输入），或 --kind 与 --title
2>     → 见：kb write --help
? 2

$ echo '[1]' | kb write -
2> kb: stdin[0]: 候选须是 JSON 对象，而不是 integer
2>     → 候选的格式见：kb write --schema
? 1

$ echo '{"kind": "decision"}' | kb write -
2> kb: stdin: 字段 title 缺失或不是文本
2>     → 候选的格式见：kb write --schema
? 1

$ kb import adr 没有
2> kb: 没有: 没有这个文件或目录
? 1
