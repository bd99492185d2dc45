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

export type Repatched =
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/** The options after a patch: those in force, those returned to `defaults`, and over both the given ones. */
export function patchedOptions(inForce: Options, patched: PatchedOptions, defaults: Options): Repatched {
  const { retry = {}, ...rest } = patched
  const base = { ...withDefaults(inForce, rest, defaults) }
  const retried = retry === null ? defaults.retry : withDefaults(base.retry, retry, defaults.retry)
  const given: PartialOptions = { ...notNull(rest), ...(retry && { retry: notNull(retry) }) }
  return overlaidOptions({ ...base, retry: retried }, given)
}

/** The values in force, where each returned value is its default, or missing when it has no default. */
function withDefaults<Values extends object>(inForce: Values, patched: object, defaults: Values): Values {
  const taken = Object.entries(patched).flatMap(([name, value]) => (value === null ? [name] : []))
  const kept = Object.entries(inForce).filter(([name]) => !taken.includes(name))
  const back = Object.entries(defaults).filter(([name]) => taken.includes(name))
  return Object.fromEntries([...kept, ...back]) as Values
}

function notNull<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], null | undefined> } {
  const given = Object.entries(members).filter(([, member]) => member !== null && member !== undefined)
  return Object.fromEntries(given) as never
}
