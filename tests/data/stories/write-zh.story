% zh: 把候选交给闸门

$ kb write --kind 决策 --title "使用 FastAPI 作为后端框架" --decision "后端统一使用 FastAPI" --why "类型提示和异步支持好" --area architecture
新建      [D001] 使用 FastAPI 作为后端框架  content/anchors/global/D001-使用-fastapi-作为后端框架.md
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           影响大：架构
2>           → 请补全：kb write --updates D001 --alternatives "…" --impact PATH --verification "…" --rollback "…"

$ kb write --kind 约束 --title "所有输出必须脱敏" --decision "返回给用户之前必须经过 Sanitizer" --alternatives "只在网关脱敏" --why "合规要求" --impact src/output/ --verification "make test-redact" --rollback "关闭脱敏开关" --area compliance --session s1
新建      [C001] 所有输出必须脱敏  content/anchors/global/C001-所有输出必须脱敏.md
2>           影响大：合规
2>           影响大：安全（“脱敏”）

% 未过闸门：先留在收件箱
$ kb write --kind decision --title "把按钮颜色改成蓝色" --decision "设置页按钮用蓝色" --why "设计师喜欢" --session s1
暂留      把按钮颜色改成蓝色
2>           未过闸门：没有重复出现，影响不大，也不可复用
2>           → 说明它为何重要：--area architecture|security|performance|compliance|modules、--reusable 或 --affects-future yes；或者等它再在 1 个会话中出现
? 3

$ kb write --kind decision --title "把按钮颜色改成蓝色" --decision "设置页按钮用蓝色" --why "设计师喜欢" --session s2
新建      [D002] 把按钮颜色改成蓝色  content/anchors/global/D002-把按钮颜色改成蓝色.md
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           重复出现：见于 2 个会话
2>           → 请补全：kb write --updates D002 --alternatives "…" --impact PATH --verification "…" --rollback "…"

% 拒绝
$ kb write --kind decision --title "修复问题" --decision "问题已修复" --area architecture
拒绝      修复问题
2>           标题“修复问题”放在哪条记录上都行，太空泛
2>           → 标题要写明就什么事做了什么决定，例如“使用 FastAPI 作为后端框架”
? 3

% 重复与更新
$ kb write --kind decision --title "使用 FastAPI 作为后端框架" --decision "后端统一使用 FastAPI" --why "类型提示和异步支持好" --area architecture
不变      [D001] 使用 FastAPI 作为后端框架  content/anchors/global/D001-使用-fastapi-作为后端框架.md
2>           与 [D001] 说的是同一件事，标题相似度 1.00

$ kb write --kind 约束 --title "输出必须脱敏" --decision "返回给用户之前必须经过 Sanitizer" --why "监管要求" --session s2
补充      [C001] 所有输出必须脱敏  content/anchors/global/C001-所有输出必须脱敏.md
2>           与 [C001] 说的是同一件事，标题相似度 0.83
2>           重复出现：见于 2 个会话
2>           影响大：安全（“脱敏”）
2>           影响大：合规（“监管”）

% 矛盾
$ kb write --kind decision --title "采用 Flask 作为后端框架" --decision "后端统一使用 Flask" --why "团队更熟悉" --area architecture
矛盾      [D003] 采用 Flask 作为后端框架  content/anchors/global/D003-采用-flask-作为后端框架.md
2>           “采用 Flask 作为后端框架”与 [D001] 中“使用 FastAPI 作为后端框架”的选择不同
2>           影响大：架构
2>           未给出：备选方案、影响范围、验证方式、回滚方式
2>           ⎇ kb/review/D003-采用-flask-作为后端框架
2>           → 请定夺：kb review show D003
? 4

$ kb list
C001   ✅ 生效  所有输出必须脱敏  (global)
D001   ⚠️ 待验证  使用 FastAPI 作为后端框架  (global)  ⎇ D003
D002   ⚠️ 待验证  把按钮颜色改成蓝色  (global)
2> ⎇ 有待定夺的评审会改动这条记录：kb review

$ cat content/anchors/global/C001-所有输出必须脱敏.md
---
id: C001
uid: "<uid>"
kind: constraint
title: 所有输出必须脱敏
status: accepted
scope: global
date: <today>
impact: [src/output/]
occurrences: 2
sources: [cli/s1, cli/s2]
---
<!-- MACHINE_BLOCK_START -->
# [C001] 所有输出必须脱敏

## 决策

返回给用户之前必须经过 Sanitizer

## 备选方案

只在网关脱敏

## 理由

合规要求

## 影响范围

- `src/output/`

## 验证方式

make test-redact

## 回滚方式

关闭脱敏开关

## 补充

- <today> (cli/s2): 理由：监管要求
<!-- MACHINE_BLOCK_END -->

<!-- USER_BLOCK_START -->

<!-- USER_BLOCK_END -->
