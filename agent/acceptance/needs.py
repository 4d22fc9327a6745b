"""Criteria that no run can answer alone: which artifact or whose judgement is missing, precisely.

They are never passed. Those that become computable once the artifact lies in the run have a function elsewhere.
"""

from __future__ import annotations

from ...knowledge.entry import Criterion

WANTED: dict[str, str] = {
    # human labels
    "pii_spot_check_misses": "a spot-check sample labelled by a person (record, missed or not); 0 misses of n bound "
    "the miss rate at about 3/n",
    "spot_check_agreement": "a re-annotated sample (item, first label, second label) with the share of equal labels",
    "dedup_false_positive_rate_acceptable": "the pairs of `triage data dedup --sample`, labelled, and the "
    "rate that is acceptable; the source names none",
    "factual_error_rate": "answers before and after, graded by a person for factual errors",
    "model_like_share_in_human_check": "answers before and after, labelled by a person as machine-like or not",
    "core_ability_retained": "a person's check of the core abilities before and after; the source names no number",
    "reply_style_normal": "sample replies judged by a person; the source names no number",
    "content_redundant": "sample replies judged by a person; the share of repeated n-grams is only a proxy",
    "style_varies_across_prompts": "replies to different prompts judged by a person; openings are only a proxy",
    "fluent": "sample replies judged by a person; the source names no number",
    # a reference artifact
    "new_online_audit_findings": "the online audit log since the date of the fix",
    "conclusion_stable_across_judges_and_prompts": "results of two or more judges or judge prompts on the same pairs",
    "online_metric_trend_matches_offline": "the online metric per release beside the offline score per release",
    "instruction_following_test_passed": "an instruction-following result (IFEval style) of this model, and the score "
    "that counts as passed",
    "output_format_correct": "the expected format (a schema or pattern) beside the sample generations",
    "ranking_by_quality_across_lengths": "reward scores of pairs labelled by quality in which the better reply is the "
    "shorter one",
    "model_separates_pairs_after_training": "accuracy or margin on held-out pairs, before and after training; the "
    "source names no number",
    "toxicity_hit_rate": "the classifier's hit rate per window, with that of the weeks before",
    "tokenizer_corpus_eval_overlap": "the tokenizer's training corpus (or hashes of its documents) and the evaluation "
    "documents",
    "long_context_perplexity": "perplexity at the training length and at the target length on the same documents",
    "loss_flat_to_target_length": "loss per position on natively long documents, up to the target length",
    "reconstruction_quality": "SNR or PSNR of the codec's round trip on a fixed sample, before and after",
    "old_distribution_loss_kept": "the loss on a fixed sample of the old distribution, at step 0 and at the end",
    "loss_independent_of_accumulation": "two short runs of 20 steps that differ only in the accumulation",
    "packed_loss_equals_separate": "the loss of ten packs and of their samples alone",
    "batched_equals_single": "greedy outputs of 20 prompts, alone and in batches",
    "argument_effective": "the configuration that the trainer prints or saves at its start",
    "request_parameters_effective": "the server's log of the sampling parameters beside one request of each client",
    "loaded_equals_source": "the number of loaded samples and ten decoded ones beside the source",
    "trained_weights_in_use": "the mean loss of ten training samples, with the trained weights and with the base",
    "token_ids_equal": "the token ids of fifty test strings on both sides",
    "vocab_embedding_match": "the shapes of embedding and head, and the tokenizer's length",
    # operational
    "link_at_full_width": "the link state under load (`nvidia-smi -q`, `ibstat`) of every node",
}
"""Metric -> the artifact or judgement that is missing."""


def needs(criterion: Criterion) -> str:
    """What the criterion needs beside a run's own artifacts; empty for one that a run can answer."""
    return criterion.needs or ("reference artifact" if criterion.metric in WANTED else "")
