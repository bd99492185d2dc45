import { type ApiServer, type ApiSettings, type Served, startApiServer } from './http.ts'
import type { Routes } from './routes.ts'

/** The HTTP APIs of a stack besides the task system's own, each at an address of its own. */
export type OwnApis = {
  /** The addresses, by the logical ids of the APIs. */
  readonly urls: ReadonlyMap<string, string>
  /** Listens for the APIs that are new, because functions' environments contain their addresses. Returns the addresses of the new ones. */
  open(logicalIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Serves these APIs from now on, and ends the others. */
  serve(apis: ReadonlyMap<string, Routes>, parts: Omit<Served, 'routes' | 'stream'>): void
  stop(): Promise<void>
}

/** The first of these APIs has the port of the task system's API and this number. */
const PORT_DISTANCE = 100

export function createOwnApis(settings: ApiSettings): OwnApis {
  const servers = new Map<string, ApiServer>()
  const urls = new Map<string, string>()
  let ports = 0

  async function open(logicalId: string): Promise<void> {
    const port = settings.port === 0 ? 0 : settings.port + PORT_DISTANCE + ports++
    const server = await startApiServer({ ...settings, port }).catch(() =>
      // The user has not chosen this port, so any other one serves as well.
      startApiServer({ ...settings, port: 0 }),
    )
    servers.set(logicalId, server)
    urls.set(logicalId, server.url)
  }

  return {
    urls,
    open: async logicalIds => {
      const fresh = logicalIds.filter(id => !servers.has(id))
      for (const id of fresh) await open(id)
      return new Map([...urls].filter(([id]) => fresh.includes(id)))
    },
    serve: (apis, parts) => {
      for (const [id, server] of servers) {
        const routes = apis.get(id)
        if (routes) {
          server.serve({ ...parts, routes })
          continue
        }
        servers.delete(id)
        urls.delete(id)
        void server.stop()
      }
    },
    stop: async () => {
      await Promise.all([...servers.values()].map(server => server.stop()))
    },
  }
}
