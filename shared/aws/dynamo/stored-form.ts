import { SCHEMA_VERSION } from '../../core/bounds.ts'
import { BatonError } from '../../core/errors.ts'
import { HEAD_SORT_KEY } from './keys.ts'

/** An item in plain values, as the document client gives and takes it. */
export type Item = Readonly<Record<string, unknown>>

/** Part of every item: the version of its form. */
export const SCHEMA = { v: SCHEMA_VERSION } as const

/** @throws BatonError `newer-schema` for an item that newer code has written. */
export function assertKnownSchema({ pk, sk, v }: Item): void {
  if (v === undefined || (v as number) <= SCHEMA_VERSION) return
  const name = sk === HEAD_SORT_KEY ? pk : `${pk} ${sk}`
  throw new BatonError(
    'newer-schema',
    `${name} is stored in schema version ${v}, and this code knows versions up to ${SCHEMA_VERSION}: deploy newer code`,
  )
}

/** The time as a TTL. It is rounded up, so that no item expires early. */
export function ttlSeconds(time: number): number {
  return Math.ceil(time / 1_000)
}
