import { spawn } from 'node:child_process'

/** The command that shows an address in the browser of the user, per platform. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Opens the address in a browser. A machine without one, such as a server, does nothing: the address is printed, too. */
export function openBrowser(url: string, platform: string = process.platform): void {
  const [command = '', ...args] = OPENERS[platform] ?? ['xdg-open']
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
