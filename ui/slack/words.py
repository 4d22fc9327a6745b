"""Every word of the Slack app in English and Chinese; what an answer says comes from `agent`."""

from __future__ import annotations

from ...tools.phrase import phrases

WORDS = phrases(
    "words of the Slack app",
    ("working", "Looking at it …", "正在查看……"),
    ("tools", "Looked at: {done} · now: {now}", "已查看：{done} · 正在：{now}"),
    ("first", "Now: {now}", "正在：{now}"),
    ("findings", "{n} so far", "已有 {n}"),
    ("status", "is reading the run …", "正在读取运行记录……"),
    ("next", "Next check", "下一步检查"),
    ("evidence", "Show evidence", "查看证据"),
    ("verify", "Verify the next run", "验证下一次运行"),
    ("resolved", "Resolved", "已解决"),
    ("helpful", "Helpful", "有帮助"),
    ("wrong", "Wrong cause", "原因不对"),
    ("case", "case `{case}`", "案例 `{case}`"),
    ("cut", "The whole answer is in the attached file.", "完整回答见附件。"),
    ("no-check", "There is no further check: nothing is suspected yet.", "没有下一步检查：目前没有怀疑对象。"),
    ("check", "*Check first (read-only):* {text}", "*先做只读检查：* {text}"),
    ("no-evidence", "No finding of this case names a line of a file.", "该案例没有指向文件某一行的发现。"),
    ("thanks", "Noted on the case.", "已记在案例里。"),
    ("noted", "Noted on the case. Say what is missing or wrong and mention me: I read it together with the run.",
     "已记在案例里。请说明缺少什么或哪里不对，并提到我，我会结合运行一起看。"),
    ("closed", "The case is marked as resolved.", "案例已标记为已解决。"),
    ("path", "Run directory or file on the server", "服务器上的运行目录或文件"),
    ("path-hint", "Or close this and attach the next run's log in the thread, with the word verify.",
     "也可以关闭窗口，在讨论串里附上下一次运行的日志，并写 verify。"),
    ("send", "Verify", "验证"),
    ("close", "Close", "关闭"),
    ("skipped", "Not read: {what}", "未读取：{what}"),
    ("read", "Read: {runs}", "已读取：{runs}"),
    ("several", "{name}: several runs are called so ({runs}); name one with its folder",
     "{name}：有多个运行叫这个名字（{runs}）；请写上目录"),
    ("outside", "{path} (not inside a folder that may be read in this channel)",
     "{path}（不在本频道允许读取的目录内）"),
    ("refused", "I may not answer you here; ask whoever runs triage for this channel.",
     "我无权在这里回答你；请联系维护 triage 的人。"),
    ("internal", "That broke inside triage ({error}); it says nothing about the run. The case is kept.",
     "triage 内部出错（{error}），与运行本身无关。案例已保留。"),
    ("invite", "I am not in that channel: invite me there, or write to me here.",
     "我不在那个频道：请先邀请我，或者直接在这里告诉我。"),
    ("failed", "Could not answer: {error}", "无法回答：{error}"),
    ("help",
     "Tell me what went wrong with a training, alignment or serving run, and attach its log and config, or name its "
     "path. `verify` with the next run's log judges whether the change worked.",
     "告诉我训练、对齐或推理服务出了什么问题，并附上日志和配置，或写出路径。附上下一次运行的日志并写 `verify`，"
     "可以判断改动是否有效。"),
    ("what-wrong", "what went wrong with this run?", "这次运行出了什么问题？"),
)  # fmt: skip
