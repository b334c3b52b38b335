% zh: 把候选交给门槛
$ kb write --kind 决策 --title "使用 FastAPI 作为后端框架" --decision "后端统一使用 FastAPI" --why "类型提示和异步支持好" --area architecture
$ kb write --kind 约束 --title "所有输出必须脱敏" --decision "返回给用户之前必须经过 Sanitizer" --alternatives "只在网关脱敏" --why "合规要求" --impact src/output/ --verification "make test-redact" --rollback "关闭脱敏开关" --area compliance --session s1
% 未过门槛：先留在收件箱
$ kb write --kind decision --title "把按钮颜色改成蓝色" --decision "设置页按钮用蓝色" --why "设计师喜欢" --session s1
$ kb write --kind decision --title "把按钮颜色改成蓝色" --decision "设置页按钮用蓝色" --why "设计师喜欢" --session s2
% 拒绝
$ kb write --kind decision --title "修复问题" --decision "问题已修复" --area architecture
% 重复与更新
$ kb write --kind decision --title "使用 FastAPI 作为后端框架" --decision "后端统一使用 FastAPI" --why "类型提示和异步支持好" --area architecture
$ kb write --kind 约束 --title "输出必须脱敏" --decision "返回给用户之前必须经过 Sanitizer" --why "监管要求" --session s2
% 矛盾
$ kb write --kind decision --title "采用 Flask 作为后端框架" --decision "后端统一使用 Flask" --why "团队更熟悉" --area architecture
$ kb list
$ cat content/anchors/global/C001-所有输出必须脱敏.md
