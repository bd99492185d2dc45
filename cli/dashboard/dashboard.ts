/**
 * `baton dashboard`: the dashboard for any system, served by a proxy on this machine. Nothing of it is public, and a deployed system needs
 * nothing for it: the proxy signs each call with the credentials of the user.
 *
 * A request passes, in this order:
 *
 * - `shared/loopback/admit.ts`: requests of foreign pages are refused by `Host`, `Origin` and `Sec-Fetch-Site`;
 * - `session.ts`: other programs and users of this machine do not know the secret of the printed address;
 * - `shared/loopback/pages.ts`: the files of the dashboard;
 * - `forward.ts`: a call of the API goes to the system; with `--read-only` only reads do.
 *
 * `server.ts` puts them together, and `open-browser.ts` shows the page.
 */

import { type DefineCommand, wholeNumber } from '../command.ts'
import { INTERRUPTED_EXIT_CODE } from '../say.ts'
import { type Context, withSystem } from '../system/with-system.ts'
import { dashboardFolder } from './dashboard-folder.ts'
import { openBrowser } from './open-browser.ts'
import { startDashboard } from './server.ts'

type Options = { readonly port: number; readonly readOnly?: boolean; readonly open: boolean }

const PORT_MAX = 65_535

export const dashboard: DefineCommand = (command, invocation) => {
  command
    .option('--port <n>', 'port of the page on this machine; 0 takes a free one', wholeNumber(0, PORT_MAX), 0)
    .option('--read-only', 'refuses every change')
    .option('--no-open', 'opens no browser')
  withSystem(command, invocation, async (context, { port, readOnly = false, open }: Options) => {
    // The first call shows whether the system answers and admits the user, before a browser does.
    await context.client.types({ limit: 1 })
    const folder = dashboardFolder()
    const server = await startDashboard({ folder, port, isReadOnly: readOnly, system: context })
    show(context, server.url, readOnly)
    if (open && context.io.out.isTTY) openBrowser(server.url)
    await interrupted(context)
    await server.stop()
    return INTERRUPTED_EXIT_CODE
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

function interrupted({ io: { signal } }: Context): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
