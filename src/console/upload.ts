import type { ApiResponse, Upload } from './api.ts'

/**
 * Makes a call that reports how much of its body is sent, which `fetch` cannot do.
 *
 * @throws {TypeError} if no answer comes, as `fetch` does.
 */
export function upload(url: string, { method, headers, body, signal, sent }: Upload): Promise<ApiResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>()
  const request = new XMLHttpRequest()
  const abort = () => request.abort()
  request.upload.onprogress = ({ loaded, total }) => sent(loaded, total)
  request.onload = () =>
    resolve({
      status: request.status,
      headers: { get: (name) => request.getResponseHeader(name) },
      text: request.responseText,
    })
  request.onerror = () => reject(new TypeError('No answer came'))
  request.onabort = () => reject(new DOMException('The call was ended', 'AbortError'))
  request.onloadend = () => signal?.removeEventListener('abort', abort)
  signal?.addEventListener('abort', abort)
  request.open(method, url)
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
  request.send(body)
  return promise
}
