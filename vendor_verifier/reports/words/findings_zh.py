"""Findings and the reasons of gates as Chinese sentences, from the numbers they rest on; it judges nothing.

A finding is a name and its evidence. The English sentence comes with it; here the same is said from the same evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vendor_verifier.gates.judge import samples_to_decide
from vendor_verifier.gates.thresholds import COST_METRICS
from vendor_verifier.values.judgement import Finding, GateVerdict

Evidence = Mapping[str, float | int | str]


def _percent(name: str) -> Callable[[Evidence], str]:
    return lambda evidence: f"{100 * float(evidence[name]):.3g}%"


def _more_or_less(evidence: Evidence) -> str:
    slope = float(evidence["slope"])
    return f"{'多' if slope > 0 else '少'} {100 * abs(slope):.3g}%"


def _band(evidence: Evidence) -> str:
    least, most = float(evidence["least"]), float(evidence["most"])
    return f"{least:+g}" if least == most else f"{least:+g} … {most:+g}"


def _lean(evidence: Evidence) -> str:
    missed, extra = int(evidence["missed"]), int(evidence["extra"])
    return f"漏调 {missed} 次，多调 {extra} 次"


# What a sentence needs beside the evidence itself.
_DERIVED: Mapping[str, Callable[[Evidence], str]] = {
    "share_percent": _percent("share"),
    "difference_points": lambda evidence: f"{100 * float(evidence['difference']):.1f}",
    "delta_points": lambda evidence: f"{100 * float(evidence['delta']):+.1f}".replace("-", "−"),
    "more_or_less": _more_or_less,
    "band": _band,
    "lean": _lean,
    "ratio_3": lambda evidence: f"{float(evidence['ratio']):.3f}",
    "times_1": lambda evidence: f"{float(evidence['times']):.1f}",
    "own_4": lambda evidence: f"{float(evidence['own']):.4g}",
    "baseline_4": lambda evidence: f"{float(evidence['baseline']):.4g}",
    "constant_1": lambda evidence: f"{float(evidence['constant']):+.1f}",
    "median_g": lambda evidence: f"{float(evidence['median']):+g}",
}

SENTENCES: Mapping[str, str] = {
    # behaviour
    "answers_cut": "{share_percent} 的请求，其回答在结束前中断",
    "refused_at_first": "{share_percent} 的请求起初被拒绝，重试后才得到回答",
    "requests_lost": "在发送的 {sends} 个请求中，{resent} 个遇到保持的连接未作答即断开，已在新连接上重发："
    "两次都可能被处理并计费",
    "stream_buffered": "要求流式返回，但 {share_percent} 的回答一次性送达",
    "calls_in_text": "{share_percent} 的回答把工具调用或其标记写进了正文",
    "access_refused": "密钥或余额被拒绝，到达的 {requests} 个请求全部失败：{failures}",
    "nothing_answered": "{requests} 个请求无一得到回答：{failures}",
    "calls_unlike_baseline": "是否调用工具的判断与基线不同：F1 与上限相差 {delta_points} 个百分点，{lean}",
    "calls_invalid": "违反参数 schema 的调用比基线多 {difference_points} 个百分点",
    "slow_first_token": "首词元比基线慢 {times_1} 倍：{own_4} 毫秒，基线 {baseline_4} 毫秒",
    "slow_decoding": "解码速度是基线的 1/{times_1}：每秒 {own_4} 个词元，基线 {baseline_4} 个",
    # bill
    "same_token_counter": "在全部 {prompts} 个提示上报告的词元数与 {other} 相同，其中 {unlike_baseline} 个与基线不同",
    "output_recount": "在 {answers} 个回答上，报告的输出词元数是本地计数的 {ratio_3} 倍",
    "reasoning_not_shown": "{answers} 个没有展示推理的回答被计入 {tokens} 个推理词元",
    "cache_impossible": "{answers} 个回答报告的缓存词元多于提示词元",
    "cache_not_discounted": "报告的费用是应付的 {ratio_3} 倍：恰好是缓存词元没有折扣时的费用",
    "reported_cost_differs": "报告的费用是按其价目和词元数计算的 {ratio_3} 倍",
    "cache_unexplained": "{prompts} 个只发送过一次的提示被报告有 {cached_tokens} 个缓存词元，"
    "其中 {unexplained_tokens} 个无法由本次运行中其他提示的相同开头解释：与之前发送过同样的提示相符",
    "prompt_truncated": "{prompts} 个较长的提示上词元数少于基线，且从不超过 {most_tokens}：与提示被截断相符",
    "prompt_tokens_slope": "提示词元比基线{more_or_less}，另有固定差 {constant_1}",
    "prompt_tokens_constant": "无论提示长短，提示词元与基线相差 {band}，中位数 {median_g}",
    # identity
    "shared_response_ids": "与 {other} 有 {ids} 个相同的响应编号",
    "identical_answers": "与 {other} 在 {compared} 个样本中的 {same} 个上逐字节相同："
    "与二者同源，或同一模型的确定性解码相符",
    "another_model_served": "请求的是 {asked}，回答自称 {served}；在注明模型的 {of} 个回答中占 {answers} 个",
    "served_model_changes": "一次运行中出现多个模型名：{names}",
    "fingerprint_changes": "一次运行中出现多个指纹：{names}",
    "id_families": "响应编号有 {families} 种格式：{names}；与背后有多个主机相符",
    "max_tokens_exceeded": "{answers} 个回答报告的输出词元超过 max_tokens，最多 {most_tokens}",
    "cut_below_max_tokens": "{answers} 个回答在达到 max_tokens 之前因长度停止，最多 {most_tokens} 个词元",
    "answers_repeated": "在重复询问的 {samples} 个样本中，{same} 个的回答逐字节相同：与缓存或确定性解码相符",
    "served_model_changed_since": "应答的模型在上次运行中是 {before}，本次是 {after}",
    "fingerprint_changed_since": "指纹在上次运行中是 {before}，本次是 {after}",
}

# The names of the numbers that stand behind a finding in brackets.
EVIDENCE: Mapping[str, str] = {
    "share": "占比", "low": "下限", "high": "上限", "requests": "请求", "failures": "失败", "delta": "差",
    "p_value": "p 值", "missed": "漏调", "extra": "多调", "difference": "差", "times": "倍数", "own": "自身",
    "baseline": "基线", "other": "对方", "prompts": "提示", "unlike_baseline": "异于基线", "ratio": "比值",
    "answers": "回答", "counted_tokens": "本地词元", "tokens": "词元", "undiscounted_ratio": "无折扣比值",
    "reported_usd": "报告美元", "cached_tokens": "缓存词元", "unexplained_tokens": "无法解释的词元",
    "most_tokens": "最多词元", "shortest_affected": "最短受影响提示", "median_delta": "差的中位数", "slope": "斜率",
    "slope_low": "斜率下限", "slope_high": "斜率上限", "constant": "固定差", "median": "中位数", "least": "最小",
    "most": "最大", "deltas": "各差次数", "ids": "编号", "same": "相同", "compared": "比较", "asked": "请求的",
    "served": "应答的", "of": "总数", "families": "格式", "names": "名称", "samples": "样本", "before": "之前",
    "after": "之后", "served models": "应答模型", "fingerprints": "指纹", "models": "模型",
    "resent": "重发", "sends": "发送",
    "invalid_json": "JSON 无效", "unknown_tool": "未知工具", "schema_mismatch": "不符合 schema",
}  # fmt: skip


def statement(found: Finding) -> str:
    """The finding as a Chinese sentence; its own English one where there is none of that name."""
    template = SENTENCES.get(found.name)
    return found.statement if template is None else template.format_map(_Values(found.evidence))


def reason(gate: GateVerdict) -> str:
    """Why a threshold passed, failed or could not be decided."""
    threshold, found = gate.threshold, gate.estimate
    what = f"{threshold.subject} − 上限" if threshold.ceiling else threshold.subject
    if found.value is None:
        why = "；基线须运行两次" if threshold.ceiling else ""
        if threshold.metric in COST_METRICS and not threshold.ceiling:
            why = "：价格未知，请在该供应商条目中加入 `price:`，或它没有报告词元数"
        return f"{what} 未能测量{why}"
    low = "−∞" if found.low is None else f"{found.low:.6g}"
    high = "∞" if found.high is None else f"{found.high:.6g}"
    said = f"{what} = {found.value:.6g}，{found.level:.0%} 区间 {low} … {high}（n = {found.n}）"
    if gate.outcome != "UNDECIDED":
        return said
    if not threshold.ceiling and found.value == threshold.number == 1.0:
        return f"{said}；再多的样本也无法证明永远如此"
    enough = samples_to_decide(threshold, found)
    more = "请发送更多样本" if enough is None else f"若数值不变，约 {enough} 个样本可以判定"
    return f"{said}；门槛位于区间之内，{more}"


class _Values(dict[str, object]):
    """Evidence by name, and what follows from it, made when a sentence asks for it."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        self._evidence = evidence

    def __missing__(self, name: str) -> object:
        return _DERIVED[name](self._evidence)
