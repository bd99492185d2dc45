import type { ChangeHook } from './kernel/system.ts'
import { PERMIT_HOOK } from './limits/permits.ts'
import { FAIR_TURN_HOOK } from './place/fair.ts'

/**
 * The hooks that features add to each change of a head, in the order in which the kernel calls them. Every `System` is
 * composed with this list. Each hook's own room explains what it does.
 */
export const CHANGE_HOOKS: readonly ChangeHook[] = [FAIR_TURN_HOOK, PERMIT_HOOK]
