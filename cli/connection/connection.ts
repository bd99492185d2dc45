/**
 * The system to which a command speaks: a deployed one by the name of its stack (`--stack`), or any by its URL (`--url`, else
 * `BATON_URL`). Otherwise it is the local one at its usual address.
 *
 * - `with-system.ts`: gives a command the options of this choice, runs its action with a client and a printer, and says why a call failed;
 * - `../aws/`: finds a deployed system and signs calls, with parts of the AWS SDK.
 */

import { Option } from 'commander'
import { type Client, createClient } from '../../shared/client/client.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import type { DeployedSystem } from '../aws/aws.ts'
import type { Io } from '../terminal/io.ts'

/** The options by which a user names a system. */
export type SystemOptions = {
  readonly url?: string
  /** The name of a stack, or `STACK/SYSTEM` for one with several task systems. */
  readonly stack?: string
  readonly profile?: string
  readonly region?: string
}

export type System = {
  readonly client: Client
  readonly url: string
  /** Sends a request to the system as the client does: with the token or the signature of the user. Every call goes through it. */
  fetch(request: Request): Promise<Response>
  /** Whether the user named no system, so that it is the local one at its usual address. */
  readonly isUsual: boolean
  readonly isSigned: boolean
  readonly deployed?: DeployedSystem
}

/** The options of the choice, in the order of the help. */
export function systemOptions(): Option[] {
  return [
    new Option('--url <url>', `the address of the API (default: BATON_URL, else ${USUAL_URL})`).conflicts(
      'stack',
    ),
    new Option('--stack <name>', 'a deployed stack, whose API is called with your AWS credentials'),
    new Option(
      '--profile <name>',
      'the AWS profile that signs the calls, with --url, too (default: as the AWS CLI)',
    ),
    new Option('--region <region>', 'the AWS region of the stack (default: as the AWS CLI)'),
  ]
}

/**
 * Finds the system and makes its client. Calls are signed for `--stack`, and for a URL when the user names a profile or a region.
 *
 * @throws BatonError `invalid` when the address is not valid, or there is no such stack; `misconfigured` when no AWS credentials or no region
 * are found; `refused` and `unavailable` when CloudFormation refuses the credentials or does not answer.
 */
export async function connect(options: SystemOptions, io: Io): Promise<System> {
  if (options.stack !== undefined) return deployedSystem(options.stack, options, io)
  const given = options.url ?? (io.env.BATON_URL || undefined)
  const url = checkedUrl(given ?? USUAL_URL)
  const isSigned = options.profile !== undefined || options.region !== undefined
  const fetch = isSigned ? await signerFor(url, options, io) : senderFor(io)
  return { client: createClient({ url, fetch }), url, fetch, isUsual: given === undefined, isSigned }
}

async function deployedSystem(stack: string, options: SystemOptions, io: Io): Promise<System> {
  const { findDeployed } = await import('../aws/aws.ts')
  const { system, fetch } = await findDeployed(stack, options, io)
  const url = checkedUrl(system.url)
  return {
    client: createClient({ url, fetch }),
    url,
    fetch,
    isUsual: false,
    isSigned: true,
    deployed: system,
  }
}

async function signerFor(url: string, options: SystemOptions, io: Io): Promise<System['fetch']> {
  const { signedFetchTo } = await import('../aws/aws.ts')
  return signedFetchTo(url, options, io)
}

/** Sends each call with the token of the environment, if there is one. */
function senderFor({ env, fetch }: Io): System['fetch'] {
  const token = env.BATON_TOKEN
  return token ? request => fetch(withToken(request, token)) : fetch
}

function withToken(request: Request, token: string): Request {
  const headers = new Headers(request.headers)
  headers.set('authorization', `Bearer ${token}`)
  return new Request(request, { headers })
}

function checkedUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text.replace(/\/+$/, '')
  throw new BatonError('invalid', `${text} is not a URL; give one like ${USUAL_URL}`)
}

/** Where `baton dev` serves, unless it gets another port. */
export const USUAL_URL = 'http://127.0.0.1:7070'
