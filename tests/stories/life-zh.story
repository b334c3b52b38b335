% zh: 取代、状态、确认、移除
$ kb write --kind decision --title "使用 JWT 做认证" --decision "接口统一用 JWT 认证" --why "无状态" --area security
$ kb write --kind decision --title "会话改存服务端" --decision "会话存放在服务端" --why "可以随时撤销" --area security
$ kb supersede D001 --by D002
$ kb confirm D002
$ kb status D002 accepted
$ kb rm D002 --why "系统下线"
$ kb list
$ kb history D002
$ EDITOR=true kb edit D002
$ kb status D001 proposed
