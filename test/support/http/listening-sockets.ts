import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export type ListeningSocket = { readonly pid: number; readonly port: number; readonly isLoopback: boolean }

/** Loopback addresses as Linux writes them: in words of 32 bits, each with its bytes in the machine's order. */
const LOOPBACK = [/^0100007F$/, /^0{24}01000000$/, /^0{16}FFFF00000100007F$/]
const LISTEN = '0A'

/** All TCP sockets on which the processes listen, over IPv4 and IPv6. Linux only. */
export function listeningSockets(pids: readonly number[]): ListeningSocket[] {
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap(rowsOf)
  return pids.flatMap(pid => {
    const inodes = inodesOf(pid)
    return rows
      .filter(({ inode }) => inodes.has(inode))
      .map(({ port, isLoopback }) => ({ pid, port, isLoopback }))
  })
}

function rowsOf(file: string) {
  const rows = readFileSync(file, 'utf8').trim().split('\n').slice(1)
  return rows.flatMap(row => {
    const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/)
    const [address = '', port = ''] = local.split(':')
    if (state !== LISTEN) return []
    return [{ inode, port: Number.parseInt(port, 16), isLoopback: LOOPBACK.some(form => form.test(address)) }]
  })
}

function inodesOf(pid: number): Set<string> {
  const folder = `/proc/${pid}/fd`
  const targets = readdirSync(folder).map(name => {
    try {
      return readlinkSync(`${folder}/${name}`)
    } catch {
      return '' // The process has closed it since `readdirSync`.
    }
  })
  return new Set(targets.map(target => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? ''))
}
