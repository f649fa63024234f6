document.title = `connbook at ${location.host}`
