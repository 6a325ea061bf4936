"""What a search for capacity found, as Chinese sentences; the same names as in the English module, nothing computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vendor_verifier.features.capacity.values import (
    Aspect,
    CapacityReport,
    LimitVerdict,
    LoadKind,
    Point,
    VendorCapacity,
)
from vendor_verifier.features.capacity.words_en import figure_of, needed_answers

_ASPECTS: Mapping[Aspect, str] = {
    "rate_limit": "供应商的速率限制（429）",
    "success": "成功率",
    "latency": "延迟",
    "speed": "解码速度",
    "quality": "工具调用质量",
    "other": "另一项限值",
}
_RAN_OUT = {
    "requests": "已达到 --max-requests",
    "cost": "已达到 --max-cost",
    "time": "已达到 --max-seconds",
    "stopped": "该供应商已被停止",
    "interrupted": "搜索被中断",
}
LEGEND = (
    "✓ 整个 95% 区间满足每项限值；（✓）数值满足，区间越过限值；? 数值不满足，区间仍触及限值；✗ 整个区间不满足某项限值。"
    "质量与该供应商自己无负载时的回答（询问两次）相比；F1 按已得到的回答计算。"
)


def unit(kind: LoadKind) -> str:
    return "并发请求" if kind == "concurrency" else "请求/秒"


def at(level: float, kind: LoadKind) -> str:
    return f"{level:g} 个并发请求" if kind == "concurrency" else f"{level:g} 请求/秒"


def verdict(vendor: VendorCapacity, kind: LoadKind) -> str:
    """What the vendor bears and what gave way first, in one sentence."""
    bears = "无法承受负载" if vendor.capacity is None else f"可承受 {at(vendor.capacity, kind)}"
    top = max((point.level for point in vendor.points), default=0.0)
    match vendor.reason:
        case "edge":
            return f"{bears}；{_gave_way(vendor, kind)}"
        case "highest":
            return f"{bears}，即所试的最高负载；没有限值被突破"
        case "client":
            return f"{bears}；更高处无法测量：{at(vendor.broke_at or top, kind)}时瓶颈在客户端（{_client(vendor)}）"
        case "unloaded":
            return f"无负载时已不满足限值：{limits(vendor.gave_way)}"
        case "drifted":
            later = "但事后在无负载下询问同样不满足，说明其间已变差，原因不是或不只是负载"
            return f"{bears}；{_gave_way(vendor, kind)}；{later}"
        case reason:
            if vendor.capacity is None:
                return f"未测量：{_RAN_OUT[reason]}"
            least = f"至少可承受 {at(vendor.capacity, kind)}；{_RAN_OUT[reason]}"
            return f"{least}，尚未找到边界" if vendor.broke_at is None else f"{least}；" + _gave_way(vendor, kind)


def _gave_way(vendor: VendorCapacity, kind: LoadKind) -> str:
    first = vendor.gave_way[0] if vendor.gave_way else None
    if vendor.broke_at is None or first is None:
        return "没有限值被突破"
    same = [limit for limit in vendor.gave_way if limit.aspect == first.aspect]
    others = [limit for limit in vendor.gave_way if limit.aspect != first.aspect]
    sure = "不再满足" if any(limit.outcome == "broken" for limit in same) else "可能不再满足（未定）"
    words = f"{at(vendor.broke_at, kind)}时{_ASPECTS[first.aspect]}{sure}：{limits(same)}"
    return words + (f"；另有 {limits(others)}" if others else "")


def limits(missed: Sequence[LimitVerdict]) -> str:
    """The figures that missed their limits, with intervals."""
    return "；".join(map(_limit, missed))


def _limit(limit: LimitVerdict) -> str:
    found, threshold = limit.estimate, limit.threshold
    low = "−∞" if found.low is None else figure_of(threshold.metric, found.low)
    high = "∞" if found.high is None else figure_of(threshold.metric, found.high)
    what = f"{threshold.subject} − 无负载" if threshold.ceiling else threshold.subject
    return f"{what} {figure_of(threshold.metric, found.value)}（{low} … {high}），限值 {threshold}"


def _client(vendor: VendorCapacity) -> str:
    point = next((one for one in vendor.points if one.level == vendor.broke_at), None)
    told = []
    if point is not None and point.lag_p99_ms is not None:
        told.append(f"事件循环 p99 滞后 {point.lag_p99_ms:.0f} 毫秒")
    if point is not None and point.core_share is not None:
        told.append(f"占用 {point.core_share:.0%} 个核心")
    return "，".join(told) or "其时钟不可信"


def mark(point: Point) -> str:
    """The outcome as one sign."""
    if point.outcome == "holds":
        unsure = any(limit.outcome in ("met", "unmeasured") for limit in point.limits)
        return "（✓）" if unsure else "✓"
    return {"undecided": "?", "broken": "✗", "client": "客户端", "cut": "中断"}[point.outcome]


def why(point: Point) -> str:
    """The limits a level misses, or why it was cut, short enough for a table."""
    if point.cut is not None:
        return _RAN_OUT.get(point.cut, point.cut)
    stage = {"unloaded": "无负载", "afterwards": "事后无负载", "level": ""}[point.stage]
    names = "、".join(str(limit.threshold) for limit in point.missed)
    return " ".join(word for word in (stage, names and f"不满足 {names}") if word)


def shown_needs(report: CapacityReport) -> Iterator[str]:
    """How many requests a level would need for its success limit to be more than a figure."""
    for threshold in report.thresholds:
        if threshold.metric == "success_rate" and not threshold.ceiling and 0 < threshold.number < 1:
            needed = needed_answers(threshold.number)
            yield f"连续 {needed} 个回答无一失败才能证明 {threshold}；更少只能说明没有反证"


TEXTS: Mapping[str, str] = {
    "title": "负载能力", "run": "运行", "warnings": "警告", "samples": "{n} 个样本", "nobody": "没有测量任何供应商",
    "bears": "各供应商可承受的负载", "vendor": "供应商", "bears_in": "可承受（{unit}）", "gave_way_at": "突破于",
    "found": "结论", "sent": "已发请求", "levels": "{label}：各级负载", "figures": "{label}：各级负载下的数值",
    "quality": "成功与质量", "success": "成功率", "f1": "F1（对无负载）", "schema": "参数",
    "ttft": "首词元延迟（毫秒）",
    "answers": "每秒回答数", "answers_key": "回答/秒", "tokens": "每个回答每秒输出词元",
    "axis": "{unit}（空心：不满足；虚线：限值）",
    "limits": "限值：{limits}（ceiling：该供应商自己无负载时的回答）。", "how": "测量方法",
    "order": "逐家供应商询问，不重试，也不因被拒绝而放慢。负载逐级加倍，直到某级不满足；再试中间值。",
    "c_requests": "请求", "c_success": "成功率", "c_answers": "回答/秒", "c_tokens": "词元/秒", "c_at_once": "同时",
    "c_schema": "参数", "c_misses": "未满足",
}  # fmt: skip
