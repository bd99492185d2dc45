import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An HTTP server that stands for a third party: it receives webhooks. */
export type Receiver = {
  readonly url: string
  /** How many webhooks of the task with this key arrived. */
  deliveries(key: string): number
  stop(): Promise<void>
}

/**
 * Starts a receiver on a free port. `POST /hook` accepts all keys. `POST /flaky` answers 503 to the first two calls of each key.
 * `POST /announce` answers 403 to keys that begin with `refused`. All paths begin with a secret, so that no web page can call them.
 */
export async function startReceiver(): Promise<Receiver> {
  const delivered = new Map<string, number>()
  const secret = `/${randomBytes(16).toString('hex')}`
  const server = createServer(async (request, response) => {
    if (!request.url?.startsWith(`${secret}/`)) return void response.writeHead(404).end()
    const path = request.url.slice(secret.length)
    const { key } = JSON.parse(await bodyOf(request)) as { key: string }
    const count = (delivered.get(key) ?? 0) + 1
    delivered.set(key, count)
    const [status, answer] = answerTo(path, key, count)
    response.writeHead(status).end(answer)
  })
  await listen(server)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${secret}`,
    deliveries: key => delivered.get(key) ?? 0,
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** How many calls of one key `/flaky` refuses before it accepts. */
export const FLAKY_REFUSALS = 2

function answerTo(path: string, key: string, count: number): [number, string] {
  if (path === '/flaky' && count <= FLAKY_REFUSALS) return [503, 'not now']
  if (path === '/announce' && key.startsWith('refused')) return [403, 'never']
  return [200, 'thank you']
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function listen(server: Server): Promise<void> {
  return new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
}
