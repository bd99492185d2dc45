/**
 * The system to which a command speaks. The user names it by its URL. Otherwise it is the one that `BATON_URL` names, else
 * the local one at its usual address. `BATON_TOKEN` is the bearer token of an API that demands one.
 *
 * - `with-system.ts`: gives a command the options of this choice, and runs its action with a client and a printer;
 * - `failures.ts`: what a command says when the system refuses a call or does not answer, and its exit code.
 */

import { type Client, createClient } from '../../shared/client/client.ts'
import { BatonError } from '../../shared/core/errors.ts'
import type { Invocation } from '../command.ts'
import { USUAL_URL } from './usual-url.ts'

/** The options by which a user names a system. */
export type SystemOptions = {
  readonly url?: string
}

export type System = {
  readonly client: Client
  readonly url: string
  /** Sends a request to the system, as the client does. */
  fetch(request: Request): Promise<Response>
  /** Whether the user named no system, so that it is the local one at its usual address. */
  readonly isUsual: boolean
}

/**
 * Finds the system and makes its client.
 *
 * @throws BatonError `invalid` when the address is none.
 */
export async function connect(options: SystemOptions, io: Invocation): Promise<System> {
  const given = options.url ?? (io.env.BATON_URL || undefined)
  const url = checkedUrl(given ?? USUAL_URL)
  const fetch = io.fetch
  const headers: Readonly<Record<string, string>> = io.env.BATON_TOKEN
    ? { authorization: `Bearer ${io.env.BATON_TOKEN}` }
    : {}
  return {
    client: createClient({ url, fetch, headers }),
    url,
    fetch,
    isUsual: given === undefined,
  }
}

function checkedUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text.replace(/\/+$/, '')
  throw new BatonError('invalid', `${text} is not a URL; give one like ${USUAL_URL}`)
}
