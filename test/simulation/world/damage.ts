/** Forms of heads that this code cannot read, as parts that replace those of the item. An undefined part is left out. */
export const DAMAGES = {
  /** Newer code has written the head, and its deployment was rolled back. */
  'of newer code': { v: 99 },
  'of newer code, in another form': { v: 99, rev: undefined, due: { in: 'seconds' }, live: 'elsewhere' },
  'without a birth': { born: 7 },
  'without a revision': { rev: 'x' },
  'without a fence': { fence: 'x', due: 'tomorrow' },
  'with a time that is a text': { due: 'tomorrow' },
  'with an input of another form': { input: 7 },
  'with options that are not JSON': { options: '{' },
  'with a run that is not a run': { live: { 1: 'yes' } },
  'with an ended run without a state': { ended: { 1: { by: 'w', at: 1, end: 2 } } },
  'with a flow whose steps are nowhere': { flow: { def: 'gone' } },
} as const satisfies Readonly<Record<string, object>>

export type DamageName = keyof typeof DAMAGES

export function isOfNewerCode(how: DamageName): boolean {
  return 'v' in DAMAGES[how]
}
