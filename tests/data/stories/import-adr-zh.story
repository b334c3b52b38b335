% zh: 导入其他工具的决策记录

$ mkdir -p docs/adr

$ cat > docs/adr/0001-使用消息队列.md <<END
> # 1. 使用消息队列
>
> 日期：2024-02-12
>
> ## 状态
>
> 已接受
>
> ## 背景
>
> 下单高峰时库存服务会超时。
>
> ## 决策
>
> 下单之后通过消息队列通知库存。
>
> ## 后果
>
> 需要处理重复消息。
> END

$ echo "# 目录" > docs/adr/README.md

$ kb import adr docs/adr
新建      [D001] 使用消息队列  content/anchors/global/D001-使用消息队列.md
2> kb: docs/adr/README.md: 看不出是决策记录：没有编号、状态，也没有“Context”或“Decision”一节
2> 导入 1，不变 0，不是记录 1
2> 要全部撤回：git -C <dir> revert --no-edit <commit>

$ kb show D001
---
id: D001
uid: "<uid>"
kind: decision
title: 使用消息队列
status: accepted
scope: global
date: 2024-02-12
sources: [docs/adr/0001-使用消息队列.md]
imported: adr-tools
adr: 1
---
<!-- MACHINE_BLOCK_START -->
# [D001] 使用消息队列

## 背景

下单高峰时库存服务会超时。

## 决策

下单之后通过消息队列通知库存。

## 影响范围

需要处理重复消息。
<!-- MACHINE_BLOCK_END -->

<!-- USER_BLOCK_START -->

<!-- USER_BLOCK_END -->

$ kb import adr docs/adr
不变      [D001] 使用消息队列  content/anchors/global/D001-使用消息队列.md
2> kb: docs/adr/README.md: 看不出是决策记录：没有编号、状态，也没有“Context”或“Decision”一节
2> 导入 0，不变 1，不是记录 1
