//! A fleet of planes: as fedhub finds it, and as clients reach it over HTTP.

#[cfg(test)]
mod http;
#[cfg(test)]
mod populated;
