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
$ kb show D001
$ kb import adr docs/adr
