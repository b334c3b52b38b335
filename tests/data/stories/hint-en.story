% en: what an agent is told before it starts, and after its plan is fixed

$ kb hint t1 -k API
No record is about this.

$ kb write --kind pitfall --title "The payment API times out under load" --decision "Calls to the payment API take over a minute at noon" --why "Its rate limit is per account" --area performance
created   [P001] The payment API times out under load  content/anchors/global/P001-the-payment-api-times-out-under-load.md
2>           large impact: performance

$ kb write --kind constraint --title "Every API answer is redacted" --decision "An answer of the API passes the sanitiser" --why "Compliance" --area compliance
created   [C001] Every API answer is redacted  content/anchors/global/C001-every-api-answer-is-redacted.md
2>           not given: alternatives, impact, verification, rollback
2>           large impact: compliance
2>           large impact: security (“redacted”)
2>           → complete it: kb write --updates C001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb write --kind pattern --title "Retry API calls with a growing pause" --decision "Failed API calls are tried again after 1, 2, 4 seconds" --why "Most failures are short" --area modules
created   [M001] Retry API calls with a growing pause  content/anchors/global/M001-retry-api-calls-with-a-growing-pause.md
2>           large impact: modules
2>           reusable: a pattern is meant to be reused

$ kb write --kind decision --title "Version the API in its path" --decision "The API has its version in the path" --alternatives "A header" --why "Caches understand it" --impact src/api/ --verification "make test-api" --rollback "Serve both for a year" --area architecture
created   [D001] Version the API in its path  content/anchors/global/D001-version-the-api-in-its-path.md
2>           large impact: architecture
2>           large impact: performance (“Caches”)

$ kb hint t1 -k API
## [T1] Before you start

⚠️ **Risks**:
- [P001] The payment API times out under load

📌 **Constraints**:
- [C001] Every API answer is redacted (⚠️ unverified)

🔄 **Patterns to reuse**:
- [M001] Retry API calls with a growing pause

---
\> For reference only; it decides nothing

$ kb hint t2 -k API
## [T2] Before you design

📜 **Earlier decisions**:
| ID | Decision | Why |
|----|------|------|
| [D001] | Version the API in its path | Caches understand it |

🔙 **How to undo it**:
- D001: Serve both for a year

---
\> For reference only; the decision is yours

$ kb hint avatar --avatar ear --task "Understand what the API is for"

$ kb spawn --avatar body --task "Write the API client"
## Hints
## [T1] Before you start

⚠️ **Risks**:
- [P001] The payment API times out under load

📌 **Constraints**:
- [C001] Every API answer is redacted (⚠️ unverified)

🔄 **Patterns to reuse**:
- [M001] Retry API calls with a growing pause

---
\> For reference only; it decides nothing

## [T2] Before you design

📜 **Earlier decisions**:
| ID | Decision | Why |
|----|------|------|
| [D001] | Version the API in its path | Caches understand it |

🔙 **How to undo it**:
- D001: Serve both for a year

---
\> For reference only; the decision is yours

## Your task
Write the API client

$ kb hint t3
2> kb: MOMENT must be one of: t1, t2, avatar
2>     → see: kb hint --help
? 2
