% zh: 收件箱
$ kb write --kind decision --title "把按钮颜色改成蓝色" --decision "设置页按钮用蓝色" --why "设计师喜欢" --session s1
$ kb write --kind decision --title "手工排列导入语句" --decision "导入语句由人手工排列" --why "团队的习惯" --session s1
$ kb inbox
$ kb inbox promote 9503f6faac13
$ kb inbox
$ kb list
