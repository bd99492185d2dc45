import { lookup as resolve } from 'node:dns'
import type { LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Fatal } from '../../shared/signals.ts'

/**
 * Whether an address is anything but public: loopback, private, link-local (the metadata service), multicast,
 * reserved, and IPv6 forms of all those. `ipaddr.js` knows the registries; Express has relied on it for a decade.
 */
export function isPrivate(address: string): boolean {
  return !ipaddr.isValid(address) || ipaddr.process(address).range() !== 'unicast'
}

/** Refuses a URL whose host is itself a private address. Names are checked when they are resolved. */
export function refuseLiteral(url: URL): void {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (ipaddr.isValid(host) && isPrivate(host)) throw refused(host)
}

/** A DNS look-up that fails when the name leads to a private address, so that the checked address is the one used. */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, [])
    const hidden = addresses.find(({ address }) => isPrivate(address))
    if (hidden) return callback(refused(`${hostname} (${hidden.address})`), [])
    const [first] = addresses
    if (options.all || !first) return callback(null, addresses)
    callback(null, first.address, first.family)
  })
}

function refused(host: string): Fatal {
  return new Fatal(`${host} is a private address; the type's webhook.allowPrivate permits such calls`)
}
