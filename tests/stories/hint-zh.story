% zh: 惯性提示
$ kb write --kind 问题 --title "支付接口高峰期超时" --decision "中午调用支付接口要一分钟以上" --why "限流按账号计算" --area performance
$ kb write --kind 约束 --title "接口返回必须脱敏" --decision "接口返回之前必须经过 Sanitizer" --why "合规" --area compliance
$ kb write --kind 决策 --title "接口版本写在路径里" --decision "接口的版本写在路径里" --alternatives "写在请求头" --why "缓存认得" --impact src/api/ --verification "make test-api" --rollback "两种都保留一年" --area architecture
$ kb hint t1 -k 接口
$ kb hint t2 -k 接口 -k 版本
$ kb hint avatar --avatar 身 --task "实现支付接口"
