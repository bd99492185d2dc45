/**
 * Replaces the AWS SDK's reader of event streams in the bundles of the system's functions. The SDK loads it for operations that
 * answer with a stream of events, and these functions call none. The real reader makes up 14 KB of each bundle.
 */
export class EventStreamSerde {}
