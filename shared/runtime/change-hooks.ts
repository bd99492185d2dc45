import { TURN_HOOK } from './fair/fair.ts'
import type { ChangeHook } from './kernel/system.ts'
import { PERMIT_HOOK } from './limits/permits.ts'

/**
 * What features add to each change of a head. Every world is composed with this list: the kernel calls the hooks in its
 * order, and each feature says in its own room what its hook does.
 */
export const CHANGE_HOOKS: readonly ChangeHook[] = [TURN_HOOK, PERMIT_HOOK]
