import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Fatal } from '../../shared/signals.ts'

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

/** RFC 6761 reserves `localhost` and all names below it for the machine. Not every resolver treats the names below it so. */
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

/**
 * Says whether an address may be called, and names its range. A `private` address needs permission. A `never` address is always
 * refused: metadata services hand out credentials, and no receiver of webhooks has a link-local, multicast or reserved address.
 */
type Reach = { readonly reach: 'public' | 'private' | 'never'; readonly range: string }

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Metadata services outside the link-local range: AWS, Google Cloud, Alibaba Cloud, Azure. */
const METADATA_RANGES = ['fd00:ec2::/32', 'fd20:ce::254/128', '100.100.100.200/32', '168.63.129.16/32'].map(
  cidr => ipaddr.parseCIDR(cidr),
)

/** The range of all IPv6 addresses that are assigned to the public internet. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

/** The range of translated addresses (RFC 6052). The network connects to the IPv4 address in their last four bytes. */
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96')
const NAT64_PREFIX_BYTES = 12

const PRIVATE_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'])

/**
 * Judges one address that a resolver or a URL gives. `ipaddr.js` knows the ranges of the IANA registries, for IPv4 and IPv6 alike; Express
 * has relied on it for a decade, and release 2.5.0 is of August 2026. `net.BlockList` would need those registries as a list of our own.
 */
export function reachOf(text: string): Reach {
  if (!ipaddr.isValid(text)) return { reach: 'never', range: 'not an IP address' }
  const address = untranslated(ipaddr.process(text))
  if (METADATA_RANGES.some(range => isWithin(address, range)))
    return { reach: 'never', range: 'metadata service' }
  const range = address.range()
  if (PRIVATE_RANGES.has(range)) return { reach: 'private', range }
  if (range !== 'unicast') return { reach: 'never', range }
  const isPublic = address.kind() === 'ipv4' || isWithin(address, GLOBAL_UNICAST)
  return isPublic ? { reach: 'public', range } : { reach: 'never', range: 'reserved' }
}

/**
 * Returns the IPv4 address in a translated address, and any other address unchanged. In an IPv6-only network, DNS64 translates
 * the address of every IPv4 host.
 */
function untranslated(address: Address): Address {
  if (!isWithin(address, NAT64)) return address
  return new ipaddr.IPv4(address.toByteArray().slice(NAT64_PREFIX_BYTES))
}

function isWithin(address: Address, range: readonly [Address, number]): boolean {
  const [network, bits] = range
  return address.kind() === network.kind() && address.match([network, bits] as never)
}
