import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { Fatal } from '../../shared/signals.ts'
import { reachOf } from './address-reach.ts'

export type ResolvedAddress = { readonly address: string; readonly family: number }

/** Resolves a name to all of its addresses. */
export type ResolveName = (name: string) => Promise<readonly ResolvedAddress[]>

/** The machine's own resolver, which also reads the hosts file. */
export const systemResolver: ResolveName = name => lookup(name, { all: true })

/** Says which addresses may be called. */
export type Policy = {
  /** Whether private and loopback addresses may be called. */
  readonly allowPrivate: boolean
  /** The end of the error about a refused private address. It says what would permit the call. */
  readonly privateHint: string
  readonly resolve: ResolveName
}

/**
 * Resolves a URL's host and checks that each of its addresses may be called. The caller connects to these addresses and does
 * not resolve the name again, so the name cannot lead elsewhere after the check.
 *
 * @throws Fatal when the host, or one of its addresses, may not be called.
 */
export async function checkedAddresses({ hostname }: URL, policy: Policy): Promise<ResolvedAddress[]> {
  const host = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  if (family === 0 && !policy.allowPrivate) refuseLocalName(host, policy)
  const addresses = family === 0 ? await policy.resolve(host) : [{ address: host, family }]
  if (addresses.length === 0) throw new Error(`${host} has no address`)
  for (const { address } of addresses) refuseAddress(host, address, policy)
  return [...addresses]
}

/**
 * RFC 6761 reserves `localhost` and all names below it for the machine. Not every resolver treats the names below it so.
 */
function refuseLocalName(host: string, { privateHint }: Policy): void {
  if (/(^|\.)localhost\.*$/i.test(host))
    throw new Fatal(`${host} is a private address (loopback); ${privateHint}`)
}

function refuseAddress(host: string, address: string, { allowPrivate, privateHint }: Policy): void {
  const { reach, range } = reachOf(address)
  if (reach === 'public' || (reach === 'private' && allowPrivate)) return
  const subject = host === address ? host : `${host} leads to ${address}, which`
  if (reach === 'private') throw new Fatal(`${subject} is a private address (${range}); ${privateHint}`)
  throw new Fatal(
    `${subject} is not a public address (${range}) and is never called, not even with allowPrivate`,
  )
}
