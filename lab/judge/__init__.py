"""From runs to verdicts: results, scores, intervals, rules, claims."""
