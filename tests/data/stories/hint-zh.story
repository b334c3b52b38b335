% zh: 惯性提示

$ kb write --kind 问题 --title "支付接口高峰期超时" --decision "中午调用支付接口要一分钟以上" --why "限流按账号计算" --area performance
新建      [P001] 支付接口高峰期超时  content/anchors/global/P001-支付接口高峰期超时.md
2>           影响大：性能

$ kb write --kind 约束 --title "接口返回必须脱敏" --decision "接口返回之前必须经过 Sanitizer" --why "合规" --area compliance
新建      [C001] 接口返回必须脱敏  content/anchors/global/C001-接口返回必须脱敏.md
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           影响大：合规
2>           影响大：安全（“脱敏”）
2>           → 请补全：kb write --updates C001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb write --kind 决策 --title "接口版本写在路径里" --decision "接口的版本写在路径里" --alternatives "写在请求头" --why "缓存认得" --impact src/api/ --verification "make test-api" --rollback "两种都保留一年" --area architecture
新建      [D001] 接口版本写在路径里  content/anchors/global/D001-接口版本写在路径里.md
2>           影响大：架构
2>           影响大：性能（“缓存”）

$ kb hint t1 -k 接口
## [识 T1] 启动提示

⚠️ **相关风险**:
- [P001] 支付接口高峰期超时

📌 **约束提醒**:
- [C001] 接口返回必须脱敏 (⚠️ 待验证)

---
\> 仅供参考，不影响决策

$ kb hint t2 -k 接口 -k 版本
## [识 T2] 设计参考

📜 **历史决策**:
| ID | 决策 | 理由 |
|----|------|------|
| [D001] | 接口版本写在路径里 | 缓存认得 |

🔙 **回滚经验**:
- D001: 两种都保留一年

---
\> 仅供参考，决策权在本体

$ kb hint avatar --avatar 身 --task "实现支付接口"
## [识 T1] 启动提示

⚠️ **相关风险**:
- [P001] 支付接口高峰期超时

📌 **约束提醒**:
- [C001] 接口返回必须脱敏 (⚠️ 待验证)

---
\> 仅供参考，不影响决策

## [识 T2] 设计参考

📜 **历史决策**:
| ID | 决策 | 理由 |
|----|------|------|
| [D001] | 接口版本写在路径里 | 缓存认得 |

🔙 **回滚经验**:
- D001: 两种都保留一年

---
\> 仅供参考，决策权在本体
