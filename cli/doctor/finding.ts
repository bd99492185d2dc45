/** What a check has found. */
export type Finding = {
  /** `wrong` needs an operator now. `notice` may be intended. */
  readonly level: 'fine' | 'notice' | 'wrong'
  /** What was checked, such as `types`. */
  readonly check: string
  readonly text: string
  /** What the user can do about it. */
  readonly next?: string
}
