import { type ApiServer, type ApiSettings, type Served, startApiServer } from './http.ts'
import type { Routes } from './routes.ts'

/** The first of these APIs has the port of the task system's API and this number. If a port is taken, any other one serves. */
const PORT_DISTANCE = 100

/** The HTTP APIs of a stack besides the task system's own, each at an address of its own. */
export function createOwnApis(settings: ApiSettings) {
  const servers = new Map<string, ApiServer>()
  let next = settings.port + PORT_DISTANCE
  return {
    urlOf: (logicalId: string) => servers.get(logicalId)?.url,
    /** Listens for the APIs that are new, because functions' environments contain their addresses. Returns their logical ids. */
    open: async (logicalIds: readonly string[]) => {
      const fresh = logicalIds.filter(id => !servers.has(id))
      for (const id of fresh) {
        const port = settings.port === 0 ? 0 : next++
        const start = (at: number) => startApiServer({ ...settings, port: at })
        servers.set(id, await start(port).catch(() => start(0)))
      }
      return fresh
    },
    /** Serves these APIs from now on, and ends the others. */
    serve: (apis: ReadonlyMap<string, Routes>, parts: Omit<Served, 'routes' | 'stream'>) => {
      for (const [id, server] of servers) {
        const routes = apis.get(id)
        if (routes) server.serve({ ...parts, routes })
        else void server.stop()
        if (!routes) servers.delete(id)
      }
    },
    stop: async () => {
      await Promise.all([...servers.values()].map(server => server.stop()))
    },
  }
}
