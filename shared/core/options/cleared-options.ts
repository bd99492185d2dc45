import type { FieldProblem } from '../errors.ts'
import type { Options, PartialOptions, Retry } from './options.ts'
import { overlaidOptions } from './overlaid-options.ts'

type Nullable<Members> = { readonly [Name in keyof Members]?: Members[Name] | null }

/** Options as a patch gives them. Null returns an option to the default of the task's type. */
export type PatchedOptions = Nullable<Omit<Options, 'retry'>> & { readonly retry?: Nullable<Retry> | null }

/** Whether a patch returns any option to its default. */
export function clears({ retry, ...rest }: PatchedOptions): boolean {
  return [retry, ...Object.values(rest), ...Object.values(retry ?? {})].includes(null)
}

export type PatchOutcome =
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/** The options after a patch. Options that it clears take their default, and options that it gives replace those in force. */
export function patchedOptions(inForce: Options, patched: PatchedOptions, defaults: Options): PatchOutcome {
  const { retry = {}, ...rest } = patched
  const base = { ...withDefaults(inForce, rest, defaults) }
  const retried = retry === null ? defaults.retry : withDefaults(base.retry, retry, defaults.retry)
  const given: PartialOptions = { ...notNull(rest), ...(retry && { retry: notNull(retry) }) }
  return overlaidOptions({ ...base, retry: retried }, given)
}

/** The values in force, where each value that the patch clears is its default, or missing when it has no default. */
function withDefaults<Values extends object>(inForce: Values, patched: object, defaults: Values): Values {
  const cleared = Object.entries(patched).flatMap(([name, value]) => (value === null ? [name] : []))
  const kept = Object.entries(inForce).filter(([name]) => !cleared.includes(name))
  const restored = Object.entries(defaults).filter(([name]) => cleared.includes(name))
  return Object.fromEntries([...kept, ...restored]) as Values
}

function notNull<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], null | undefined> } {
  const given = Object.entries(members).filter(([, member]) => member !== null && member !== undefined)
  return Object.fromEntries(given) as never
}
