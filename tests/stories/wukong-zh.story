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
$ kb list
$ kb show D001
$ kb export wukong -o out.md
$ diff anchors.md out.md
$ kb import wukong anchors.md
$ kb export wukong --scope project/none
$ echo "# 空" > empty.md
$ kb import wukong empty.md
$ kb import wukong missing.md
