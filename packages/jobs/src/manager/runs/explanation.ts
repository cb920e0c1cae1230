import {
  RUN_REASONS,
  type RunExplanation,
  type RunReason,
} from '../../contract/run-explanation.ts';

/** What an explanation says beside its reason. */
interface Words {
  /** Follows the sentence of the reason. */
  readonly text?: string;
  readonly would?: readonly string[];
  readonly since?: Date | null;
  readonly until?: Date | null;
  readonly waitsFor?: string;
}

export function explanation(why: RunReason, words: Words = {}): RunExplanation {
  const { text, would = [], since = null, until = null, waitsFor = null } = words;
  const head = RUN_REASONS[why];
  return {
    why,
    text: text === undefined ? head : `${head} ${text}`,
    would,
    since,
    until,
    waitsFor,
  };
}

/** `12 s`, `5 min`, `3 h`, `2 days`: for sentences. */
export function lengthInWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
