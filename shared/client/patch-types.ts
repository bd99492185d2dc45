import type { Json } from '../core/json.ts'
import type { OptionsBody, RetryBody } from './api-types.ts'

type OrNull<Members> = { readonly [Name in keyof Members]?: Members[Name] | null }

/** Null takes an option back to the default of the task's type, and tags away. */
export type PatchBody = OrNull<Omit<Required<OptionsBody>, 'retry'>> & {
  readonly retry?: OrNull<Required<RetryBody>> | null
  readonly priority?: number | null
  readonly dueAt?: string
  readonly delayMs?: number
  readonly input?: Json
  readonly stage?: string
  readonly tags?: Readonly<Record<string, string>> | null
}
