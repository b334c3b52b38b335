% zh: 取代、状态、确认、移除

$ kb write --kind decision --title "使用 JWT 做认证" --decision "接口统一用 JWT 认证" --why "无状态" --area security
新建      [D001] 使用 JWT 做认证  content/anchors/global/D001-使用-jwt-做认证.md
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           影响大：安全
2>           → 请补全：kb write --updates D001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb write --kind decision --title "会话改存服务端" --decision "会话存放在服务端" --why "可以随时撤销" --area security
新建      [D002] 会话改存服务端  content/anchors/global/D002-会话改存服务端.md
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           影响大：安全
2>           → 请补全：kb write --updates D002 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb supersede D001 --by D002 --yes
更新      [D002] 会话改存服务端  content/anchors/global/D002-会话改存服务端.md
2>           取代 [D001]
2>           在本条被接受之前，[D001] 使用 JWT 做认证 保持不变

$ kb confirm D002
更新      [D002] 会话改存服务端  content/anchors/global/D002-会话改存服务端.md
2>           已确认

$ kb status D002 accepted
2> kb: content/anchors/global/D002-会话改存服务端.md: [D002] 缺少：备选方案、影响范围、验证方式、回滚方式
2>     → 请补全：kb write --updates D002 --alternatives "…" --impact PATH --verification "…" --rollback "…"
? 1

$ kb rm D002 --why "系统下线" --yes
更新      [D002] 会话改存服务端  content/anchors/global/D002-会话改存服务端.md
2>           待验证 → 已废弃

$ kb list
D001   ⚠️ 待验证  使用 JWT 做认证  (global)
D002   ❌ 已废弃  会话改存服务端  (global)

$ kb history D002
<time>  写入（播种）          新增 [D002] 会话改存服务端  <commit>
<time>  待用（休眠）          直到有任务用到它  <commit>
<time>  失效（废弃）          取代 [D001] → [D002]  <commit>
<time>  修改（更新）          确认 [D002] 会话改存服务端  <commit>
<time>  失效（废弃）          更改状态 [D002] → deprecated: 系统下线  <commit>

$ EDITOR=true kb edit D002
不变      [D002] 会话改存服务端  content/anchors/global/D002-会话改存服务端.md

$ kb status D001 proposed --yes
2> kb: content/anchors/global/D001-使用-jwt-做认证.md: [D001] 现为待验证，只能变为：accepted、deprecated、rejected、superseded
? 1
