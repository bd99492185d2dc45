import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { ARRIVAL, type ArrivalBounds, admitting, close, listen, send } from '../../loopback/loopback.ts'
import { servePages } from '../../loopback/pages.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import { type Context, withSystem } from '../connection/with-system.ts'
import { type DefineCommand, wholeNumber } from '../terminal/command.ts'
import { FAILED_EXIT_CODE, INTERRUPTED_EXIT_CODE } from '../terminal/io.ts'
import { createForward, type Forwarding } from './forward.ts'
import { createSession } from './session.ts'

/**
 * `baton dashboard`: the dashboard for any system, served by a proxy on this machine. Nothing of it is public, and a deployed system needs
 * nothing for it: the proxy signs each call with the credentials of the user.
 *
 * A request passes, in this order:
 *
 * - `loopback/loopback.ts`: requests of foreign pages are refused by `Host`, `Origin` and `Sec-Fetch-Site`;
 * - `session.ts`: other programs and users of this machine do not know the secret of the printed address, nor the token of the page;
 * - `loopback/pages.ts`: the files of the dashboard;
 * - `forward.ts`: a call of the API goes to the system; with `--read-only` only reads do. A refusal says why.
 */

type Options = { readonly port: number; readonly readOnly?: boolean; readonly open: boolean }

const PORT_MAX = 65_535

export const dashboard: DefineCommand = (command, invocation) => {
  command
    .option('--port <n>', 'port of the page on this machine; 0 takes a free one', wholeNumber(0, PORT_MAX), 0)
    .option('--read-only', 'refuses every change')
    .option('--no-open', 'opens no browser; for machines with other users, who see its command')
  withSystem(command, invocation, async (context, { port, readOnly = false, open }: Options) => {
    // The first call shows whether the system answers and admits the user, before a browser does.
    await context.client.types({ limit: 1 })
    const folder = dashboardFolder()
    const report = context.printer.warn
    const server = await startDashboard({ folder, port, isReadOnly: readOnly, system: context, report })
    show(context, server.url, readOnly)
    if (open && context.io.out.isTTY) openBrowser(server.url)
    const isInterrupted = await Promise.race([interrupted(context), server.usedTwice.then(() => false)])
    await server.stop()
    if (isInterrupted) return INTERRUPTED_EXIT_CODE
    context.printer.warn(USED_TWICE)
    return FAILED_EXIT_CODE
  })
}

function show({ printer, url, deployed }: Context, address: string, isReadOnly: boolean): void {
  const system = deployed ? `${deployed.stack} in ${deployed.region}` : url
  if (printer.isJson) printer.record({ url: address, system: url, readOnly: isReadOnly })
  else
    printer.line(
      `the dashboard of ${system}${isReadOnly ? ', read-only' : ''}: ${printer.style.bold(address)}`,
    )
  printer.note('the address works once, in one browser; Ctrl-C ends the dashboard')
}

const USED_TWICE = [
  'the dashboard has ended, because its address was opened twice: by a second browser, or by somebody else, who may have been the first.',
  'Other users of this machine see the address in the list of processes while it opens your browser: start again with --no-open, and open it yourself.',
].join('\n')

/** Resolves to true. */
async function interrupted({ io: { signal } }: Context): Promise<boolean> {
  if (!signal.aborted) await once(signal, 'abort')
  return true
}

/** Where the built dashboard is: a folder of this package, or what the build of a checkout has left. */
const PLACES = ['../../dashboard/', '../../dist/dashboard/']

/**
 * Returns the folder of the built dashboard.
 *
 * @throws BatonError `misconfigured` in a checkout of the repository that has not built it
 */
function dashboardFolder(): string {
  const folders = PLACES.map(place => fileURLToPath(new URL(place, import.meta.url)))
  const built = folders.find(folder => existsSync(`${folder}index.html`))
  if (built !== undefined) return built
  throw new BatonError('misconfigured', 'the dashboard is not built: npm start builds it in a checkout')
}

/** The command that shows an address in the browser of the user, per platform. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Opens the address in a browser. A machine without one, such as a server, does nothing: the address is printed, too. */
function openBrowser(url: string): void {
  const [command = '', ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}

type DashboardSettings = Forwarding & {
  /** The built files of the dashboard. */
  readonly folder: string
  /** 0 takes a free port. */
  readonly port: number
  readonly arrival?: ArrivalBounds
}

export type DashboardServer = Awaited<ReturnType<typeof startDashboard>>

/** A bound for programs that keep connections. */
const CONNECTIONS_MAX = 200

/**
 * Starts the dashboard of a system on this machine.
 *
 * @throws BatonError `misconfigured` when the port is taken
 */
export async function startDashboard(settings: DashboardSettings) {
  const { folder, port, isReadOnly, arrival = ARRIVAL } = settings
  const server = createServer(arrival)
  server.maxConnections = CONNECTIONS_MAX
  const pages = servePages(folder)
  const forward = createForward(settings)
  const address = await listen(server, port).catch(explainPort(port))
  const taken = new URL(address).port || '80'
  const admit = admitting(taken, [], { name: 'the dashboard', hint: '' })
  const session = createSession(taken)
  const second = new EventEmitter()
  const usedTwice = once(second, 'use').then(() => undefined)
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (isReadOnly) response.setHeader('baton-read-only', 'true')
    const refusal = admit(request) ?? session.check(request)
    if (session.isOver()) response.once('close', () => second.emit('use'))
    if (refusal) send(response, refusal)
    else if (!pages(request, response)) void forward(request, response)
  })
  return {
    /** The address to open, with its secret. */
    url: address + session.entry,
    /** Resolves when the secret was used a second time, after the answer to that. The server then refuses everything. */
    usedTwice,
    stop: () => close(server),
  }
}

function explainPort(port: number) {
  return (cause: NodeJS.ErrnoException): never => {
    if (cause.code !== 'EADDRINUSE' && cause.code !== 'EACCES') throw cause
    const problem = `port ${port} cannot be used (${cause.code}): give another --port, or none for a free one`
    throw new BatonError('misconfigured', problem, { cause })
  }
}
