% zh: 单文件形式的导入与导出

$ cat > anchors.md <<END
> # 锚点
>
> ## [D001] 使用 JWT 做认证
>
> **状态**: ✅ 生效
> **日期**: 2024-01-15
>
> ### 决策
> 接口统一用 JWT 认证
>
> ### 理由
> 无状态，便于扩容
>
> ### 影响范围
> - \`src/auth/\`: 登录与刷新
>
> ---
>
> ## [C001] 密码不得明文存储
>
> **状态**: ✅ 生效
> **日期**: 2024-01-16
>
> ### 约束
> 密码必须加盐哈希，参见 [D001]
>
> ---
>
> ## [P001] 刷新令牌并发失效
>
> **状态**: ⚠️ 待验证
> **日期**: 2024-01-17
>
> ### 问题
> 同一令牌并发刷新时，后一个请求失败
> END

$ kb import wukong anchors.md
新建      [D001] 使用 JWT 做认证  content/anchors/global/D001-使用-jwt-做认证.md
新建      [C001] 密码不得明文存储  content/anchors/global/C001-密码不得明文存储.md
新建      [P001] 刷新令牌并发失效  content/anchors/global/P001-刷新令牌并发失效.md
2> 导入 3，不变 0，不是记录 0
2> 要全部撤回：git -C <dir> revert --no-edit <commit>

$ kb list
C001   ✅ 生效  密码不得明文存储  (global)
D001   ✅ 生效  使用 JWT 做认证  (global)
P001   ⚠️ 待验证  刷新令牌并发失效  (global)

$ kb show D001
---
id: D001
uid: "<uid>"
kind: decision
title: 使用 JWT 做认证
status: accepted
scope: global
date: 2024-01-15
impact: [src/auth/]
anchors_md: {before: "# 锚点\n\n", rule: true, head: "**状态**: ✅ 生效\n**日期**: 2024-01-15"}
---
<!-- MACHINE_BLOCK_START -->
# [D001] 使用 JWT 做认证

## 决策

接口统一用 JWT 认证

## 理由

无状态，便于扩容

## 影响范围

- `src/auth/`: 登录与刷新
<!-- MACHINE_BLOCK_END -->

<!-- USER_BLOCK_START -->

<!-- USER_BLOCK_END -->

$ kb export wukong -o out.md
out.md

$ diff anchors.md out.md

$ kb import wukong anchors.md
不变      [D001] 使用 JWT 做认证  content/anchors/global/D001-使用-jwt-做认证.md
不变      [C001] 密码不得明文存储  content/anchors/global/C001-密码不得明文存储.md
不变      [P001] 刷新令牌并发失效  content/anchors/global/P001-刷新令牌并发失效.md
2> 导入 0，不变 3，不是记录 0

$ kb export wukong --scope project/none

$ echo "# 空" > empty.md

$ kb import wukong empty.md
2> kb: empty.md: 没有锚点：缺少“## [D001] 标题”这样的标题行
2>     → ADR 文件请用：kb import adr
? 1

$ kb import wukong missing.md
2> kb: missing.md: 没有这个文件或目录
? 1
