import { Socket } from 'node:net'
import { endOwnGroup } from './end-own-group.ts'
import { LIFELINE_FD } from './protocol.ts'

/**
 * A thread of a run's process. The worker holds the other end of the lifeline and writes nothing; when it is gone,
 * however it went, the operating system closes that end. A thread, because a handler that spins hears nothing.
 */
new Socket({ fd: LIFELINE_FD }).on('end', endOwnGroup).on('error', endOwnGroup).resume()
