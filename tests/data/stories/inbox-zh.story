% zh: 收件箱

$ kb write --kind decision --title "把按钮颜色改成蓝色" --decision "设置页按钮用蓝色" --why "设计师喜欢" --session s1
暂留      把按钮颜色改成蓝色
2>           未过闸门：没有重复出现，影响不大，也不可复用
2>           → 说明它为何重要：--area architecture|security|performance|compliance|modules、--reusable 或 --affects-future yes；或者等它再在 1 个会话中出现
? 3

$ kb write --kind decision --title "手工排列导入语句" --decision "导入语句由人手工排列" --why "团队的习惯" --session s1
暂留      手工排列导入语句
2>           未过闸门：没有重复出现，影响不大，也不可复用
2>           → 说明它为何重要：--area architecture|security|performance|compliance|modules、--reusable 或 --affects-future yes；或者等它再在 1 个会话中出现
? 3

$ kb inbox
a89de2da9262  ×1  决策: 手工排列导入语句  (global)
bfdc78b980a8  ×1  决策: 把按钮颜色改成蓝色  (global)

$ kb inbox promote 9503f6faac13
2> kb: 收件箱里没有 9503f6faac13，或不止一条
2>     → 见：kb inbox
? 1

$ kb inbox
a89de2da9262  ×1  决策: 手工排列导入语句  (global)
bfdc78b980a8  ×1  决策: 把按钮颜色改成蓝色  (global)

$ kb list
2> 没有记录
