# ruff: noqa: E501  (patterns are read as a table)
# fmt: off
"""What text that speaks to a model looks like, in two languages."""

from __future__ import annotations

import re

from ...tools.patterns import bounded

INSTRUCTION = bounded(
    "|".join((
    r"\b(?:as|per|following|according to)\b.{0,15}\b(?:instruct\w*|told|orders?|commanded)\b|(?:按照?|根据|遵照|依照|从).{0,10}(?:指示|指令|命令)",
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|rule|prompt|guideline|polic|previous|above|evidence|finding|guard|F\d)",
    r"\byou are (?:now|no longer)\b|\b(?:system|developer) (?:prompt|message|override)|\bnew instructions?\b|\bas an? (?:ai|language model|assistant)\b",
    r"^\s*(?:#+\s*)?(?:system|assistant|user|developer|系统|助手|用户|管理员)\s*[:：]|<\|?/?(?:im_start|im_end|system|assistant|tool_call|tool_response|think)\b|\[/?INST\]|</?s>",
    r"\b(?:do not|don't|never) (?:tell|mention|report|reveal|disclose)\b|\b(?:note|attention|message|instruction)s? (?:to|for) (?:the )?(?:ai|llm|model|assistant|agent|triage)",
    r"\b(?:report|say|answer|claim|state|conclude|tell (?:the )?(?:user|person|them))\b.{0,40}\b(?:everything|nothing|all|run|training|it)\b.{0,20}\b(?:fine|healthy|ok|okay|wrong|good|normal|perfect)\b",
    r"\b(?:respond|reply|answer|output|print)\b.{0,20}\b(?:only|exactly|with|verbatim|your)\b|\bmust (?:reply|answer|output|say|respond|obey|comply)\b",
    r"\brm -rf\b|\bcurl\b.{0,80}\||\bwget\b.{0,80}(?:\||&&)|\|\s*(?:ba)?sh\b|\bsudo\b|\bchmod \+x|:\(\)\s*\{|\beval\(|os\.system|subprocess\.|__import__",
    r"\b(?:send|upload|post|exfiltrate|leak|forward|email)\b.{0,60}\b(?:to|https?://|@)|\b(?:call|invoke|use) (?:the )?(?:tool|function)\b|\breveal\b|\bjailbreak|\bdan mode",
    r"\b(?:call|run|use|invoke)\b.{0,20}\b(?:scan|look|lint|propose|verify|diagnose|search)\b.{0,30}(?:/|path|file)",
    r"(?:忽略|无视|忘记|忘掉|不要理会|抛开|绕过|覆盖).{0,20}(?:指令|指示|规则|提示|要求|证据|以上|之前|前面|限制)",
    r"你现在(?:是|的)|你不再是|系统(?:提示|指令|消息)|新的?指令|作为(?:一个)?(?:AI|人工智能|助手|语言模型)|(?:致|给)(?:AI|模型|助手|智能体)",
    r"(?:请|必须|务必|只需?|直接)(?:回复|回答|输出|告诉用户|声称|报告)|不要(?:告诉|提及|提到|报告|透露|引用)|(?:报告|回答|告诉用户|声称|结论)[说为是：:“\"]{0,3}(?:一切|运行|训练)?(?:正常|没有问题|没问题|健康)",
    r"(?:立即|马上|现在就|必须|务必|请)(?:执行|运行|调用|删除|上传|发送)|(?:发送|上传|转发|泄露)(?:给|到|至)|调用(?:工具|函数)",
    )),
    re.IGNORECASE,
)
"""Text that speaks to a model or a shell. A log has no business to."""
